"use strict";
// What pages do where there is a script: copy commands, sort and filter tables, draw charts live, tell what is pointed at or focused.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const made = (tag, words = "", more = {}) => Object.assign(document.createElement(tag), { textContent: words }, more);
  document.documentElement.classList.add("js");

  const tip = made("div", "", { className: "tip" });
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const show = (words, x, y) => {
    tip.textContent = words;
    tip.classList.add("on");
    const left = x + 14 + tip.offsetWidth > innerWidth - 6 ? Math.max(6, x - tip.offsetWidth - 14) : x + 14;
    const top = y + 16 + tip.offsetHeight > innerHeight - 6 ? Math.max(6, y - tip.offsetHeight - 12) : y + 16;
    Object.assign(tip.style, { left: `${left}px`, top: `${top}px` });
  };
  const hide = () => tip.classList.remove("on");
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  for (const element of all("[data-tip]")) {
    element.addEventListener("pointermove", (event) => show(element.dataset.tip, event.clientX, event.clientY));
    element.addEventListener("focus", () => {
      const box = element.getBoundingClientRect();
      show(element.dataset.tip, box.left, box.bottom - 10);
    });
    for (const end of ["pointerleave", "blur"]) element.addEventListener(end, hide);
  }

  const copied = async (text) => {
    if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text);
    const area = made("textarea", "", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };
  for (const box of all(".cmd")) {
    const button = made("button", "copy", { type: "button" });
    button.setAttribute("aria-label", "copy the command");
    button.addEventListener("click", async () => {
      await copied(box.querySelector("pre").textContent);
      button.textContent = "copied";
      button.setAttribute("aria-live", "polite");
      setTimeout(() => (button.textContent = "copy"), 1500);
    });
    box.append(button);
  }

  const units = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12,
    "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "ns/B": 1e-9 };
  const value = (text) => {
    const found = /^\s*([+\-−]?[\d,]*\.?\d+(?:e[+\-]?\d+)?)\s*(\S+)?/i.exec(text);
    return found ? parseFloat(found[1].replace(/,/g, "").replace("−", "-")) * (units[found[2]] ?? 1) : NaN;
  };
  for (const table of all("table")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 2) continue;
    const first = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = made("button", head.textContent, { type: "button" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => row.cells[column]?.textContent ?? "";
        const order = [...first].sort((one, other) => {
          const [a, b] = [value(key(one)), value(key(other))];
          if (isNaN(a) && isNaN(b)) return (up ? 1 : -1) * key(one).localeCompare(key(other));
          if (isNaN(a) || isNaN(b)) return isNaN(a) ? 1 : -1;  // what has no figure comes last
          return up ? a - b : b - a;
        });
        body.append(...order);
      });
    });
    if (first.length < 8) continue;
    const label = made("label", "rows with", { className: "filter" });
    const input = made("input", "", { type: "search" });
    const count = made("span", "");
    count.setAttribute("role", "status");
    label.append(input, " ", count);
    table.closest(".scroll").before(label);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of first) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      const left = first.filter((row) => !row.hidden).length;
      count.textContent = words.length ? `${left} of ${first.length}` : "";
    });
  }

  const breakTitle = (panel, width, letter) => {
    if (!panel.title) return;
    const whole = panel.title.text ? panel.title : { text: panel.title };
    const letters = Math.max(12, Math.floor(width / letter));
    const lines = [];
    for (const word of whole.text.split(" ")) {
      if (lines.length && `${lines.at(-1)} ${word}`.length <= letters) lines.push(`${lines.pop()} ${word}`);
      else lines.push(word);
    }
    panel.title = { ...whole, text: lines };
  };

  // The spec of a chart at a width, as Chart.fitted makes it.
  const fitted = (chart, width) => {
    const columns = Math.max(1, Math.min(chart.panels.length, chart.columns, Math.floor(width / chart.least)));
    const inner = Math.floor((width - 10 - 24 * (columns - 1)) / columns - chart.label);
    const panels = JSON.parse(JSON.stringify(chart.panels).replaceAll("$WIDE", inner));
    const whole = { ...structuredClone(chart.base), config: structuredClone(chart.config), padding: 2 };
    whole.config.legend.columns = Math.max(1, Math.floor(width / chart.legend));
    whole.config.legend.labelLimit = Math.min(320, width - 60);
    if (width < 520) whole.config.axis.labelLimit = 110;
    whole.params = [{ name: "stop", value: -1 }, ...(whole.params ?? [])];
    if (panels.length === 1) {
      breakTitle(panels[0], width, chart.letter);
      whole.params.push(...(panels[0].params ?? []));
      delete panels[0].params;
      delete whole.resolve;  // of panels to each other
      return { ...whole, ...panels[0], width: width - 6, autosize: { type: "fit-x", contains: "padding" } };
    }
    for (const panel of panels) {
      breakTitle(panel, inner + chart.label, chart.letter);
      panel.width = inner;
    }
    return { ...whole, concat: panels, columns };
  };
  const datumOf = (item) => {
    let datum = item?.datum;
    while (datum && datum.datum) datum = datum.datum;  // nearest points lie behind cells of their own
    return datum;
  };

  const bring = (box) => {
    const chart = JSON.parse(box.querySelector("script").textContent);
    const live = made("div", "", { className: "live" });
    const canvas = made("div");
    live.append(canvas);
    const read = made("div", "", { className: "read" });
    const line = made("output", chart.stops.length ? "Point at the chart, or use the arrow keys, for its values." : "");
    read.append(line);
    box.append(live, read);
    let embedded = null;
    let view = null;
    let turns = 0;
    let stop = -1;
    let drawn = 0;
    const at = (number) => {
      if (number === stop || !chart.stops.length) return;
      stop = Math.max(0, Math.min(chart.stops.length - 1, number));
      line.textContent = chart.stops[stop];
      live.setAttribute("aria-valuenow", stop);
      live.setAttribute("aria-valuetext", chart.stops[stop]);
      view?.signal("stop", stop).runAsync();
    };
    const draw = () => {
      const width = Math.floor(box.clientWidth);
      if (!width || width === drawn) return;
      drawn = width;
      const turn = ++turns;
      const options = { mode: "vega-lite", renderer: "svg", actions: false, hover: true, tooltip: () => {}, defaultStyle: false };
      vegaEmbed(canvas, fitted(chart, width), options).then((made) => {
        if (turn !== turns) return made.finalize();
        embedded?.finalize();
        embedded = made;
        view = made.view;
        view.addEventListener("pointermove", (event, item) => {
          const datum = datumOf(item);
          if (Number.isInteger(datum?.stop)) at(datum.stop);
          const words = datum?.tip ?? chart.stops[datum?.stop];
          if (words) show(words, event.clientX, event.clientY);
          else hide();
        });
        view.addEventListener("pointerout", hide);
        if (stop >= 0) view.signal("stop", stop).runAsync();
        // The slider speaks for the picture.
        canvas.querySelector("svg")?.setAttribute("aria-hidden", "true");
        box.classList.add("isdrawn");
        box.dataset.drawn = width;
      });
    };
    const scale = (factor) => {
      if (!factor) {
        drawn = 0;  // drawn anew, whole
        return draw();
      }
      const svg = canvas.querySelector("svg");
      const place = svg.getBoundingClientRect();
      const at = { clientX: place.left + 0.6 * place.width, clientY: place.top + 0.55 * place.height, bubbles: true, cancelable: true };
      const target = document.elementFromPoint(at.clientX, at.clientY);
      (target && svg.contains(target) ? target : svg).dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: factor, ctrlKey: true }));
    };
    const zooms = JSON.stringify(chart.panels).includes('"bind":"scales"');
    if (zooms) {
      const buttons = made("div", "", { className: "zoom" });
      for (const [words, label, factor] of [["+", "zoom in", -120], ["−", "zoom out", 120], ["all", "show all", 0]]) {
        const button = made("button", words, { type: "button", title: label });
        button.setAttribute("aria-label", label);
        button.addEventListener("click", () => scale(factor));
        buttons.append(button);
      }
      read.append(buttons);
    }
    live.tabIndex = 0;
    if (chart.stops.length) {
      const names = { role: "slider", "aria-valuemin": 0, "aria-valuemax": chart.stops.length - 1, "aria-valuenow": 0,
        "aria-valuetext": chart.stops[0], "aria-label": box.dataset.title, "aria-orientation": "horizontal" };
      for (const [name, words] of Object.entries(names)) live.setAttribute(name, words);
    } else {
      live.setAttribute("role", "img");
      live.setAttribute("aria-label", box.dataset.title);
    }
    live.addEventListener("focus", () => stop < 0 && at(0));
    live.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -1e6, End: 1e6 };
      if (event.key in steps) at(Math.max(0, stop) + steps[event.key]);
      else if (zooms && "+-0".includes(event.key)) scale({ "+": -120, "-": 120, 0: 0 }[event.key]);
      else return;
      event.preventDefault();
    });
    new ResizeObserver(draw).observe(box);
    draw();
  };
  // Charts are drawn when they come into sight; a fold's when it is opened.
  const sight = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      sight.unobserve(target);
      bring(target);
    }
  }, { rootMargin: "600px" });
  for (const box of all(".chart")) sight.observe(box);
  // What has no picture beside it is drawn for print, too, wherever it stands.
  addEventListener("load", () => all(".chart.only").forEach((box) => setTimeout(() => {
    sight.unobserve(box);
    if (!box.querySelector(".live")) bring(box);
  })));

  // Print unfolds, and folds again what was folded.
  let folded = [];
  addEventListener("beforeprint", () => (folded = all("details:not([open])")).forEach((fold) => (fold.open = true)));
  addEventListener("afterprint", () => folded.forEach((fold) => (fold.open = false)));
})();
