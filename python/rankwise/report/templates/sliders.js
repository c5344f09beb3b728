"use strict";
// The time of a step at any latency, bandwidth and number of ranks a node, between points that were predicted: linear in the
// factors of the latency and of the time of a byte.
(() => {
  const units = [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]];
  const written = (seconds) => {
    const [unit, scale] = units.find(([, size]) => seconds >= 0.9995 * size) ?? units.at(-1);
    return `${Number((seconds / scale).toPrecision(3))} ${unit}`;
  };
  const rate = (value) => `${Number((value / (value < 1e9 ? 1e6 : 1e9)).toPrecision(3))} ${value < 1e9 ? "MB" : "GB"}/s`;
  const factor = (value) => (value >= 1 ? `${Number(value.toPrecision(3))}x` : `1/${Number((1 / value).toPrecision(3))}`);
  const place = (points, x) => {
    let i = points.findIndex((point) => point > x) - 1;
    if (i < 0) i = x < points[0] ? 0 : points.length - 2;
    return [i, (x - points[i]) / (points[i + 1] - points[i])];
  };
  const between = (table, latencies, bytes, latency, byte) => {
    const [i, a] = place(latencies, latency), [j, b] = place(bytes, byte);
    const row = (k) => table[k][i] * (1 - a) + table[k][i + 1] * a;
    return row(j) * (1 - b) + row(j + 1) * b;
  };
  for (const box of document.querySelectorAll(".sliders")) {
    const data = JSON.parse(box.dataset.table);
    const input = Object.fromEntries([...box.querySelectorAll("input")].map((one) => [one.name, one]));
    const said = Object.fromEntries([...box.querySelectorAll("output")].map((one) => [one.htmlFor.value, one]));
    const [low, high] = data.shares, svg = box.querySelector("svg");
    const draw = () => {
      const latency = 2 ** +input.latency.value, bandwidth = 2 ** +input.bandwidth.value;
      const table = data.times_s[+input.each.value], at = (x) => between(table, data.latencies, data.bytes, x, 1 / bandwidth);
      const now = at(latency);
      said.latency.textContent = `${factor(latency)}, ${written(latency * data.latency_s)}`;
      said.bandwidth.textContent = `${factor(bandwidth)}, ${rate(bandwidth * data.bytes_per_s)}`;
      said.each.textContent = data.ranks_per_node[+input.each.value];
      const faster = Number((data.first_s / now).toPrecision(3));
      box.querySelector(".now").textContent = `${written(now)} a step (${written(low * now)} to ${written(high * now)}), ` +
        `${faster === 1 ? "" : `${faster} times `}as fast as recorded`;
      const powers = Array.from({ length: 65 }, (_, i) => -4 + i / 8), times = powers.map((power) => at(2 ** power));
      const most = 1.05 * high * Math.max(...times), x = (power) => 50 + (power + 4) * 65, y = (seconds) => 170 - (150 * seconds) / most;
      const line = (share) => powers.map((power, i) => `${x(power).toFixed(1)},${y(share * times[i]).toFixed(1)}`);
      svg.querySelector(".band").setAttribute("points", [...line(high), ...line(low).reverse()].join(" "));
      svg.querySelector(".line").setAttribute("points", line(1).join(" "));
      svg.querySelector("circle").setAttribute("cx", x(Math.log2(latency)));
      svg.querySelector("circle").setAttribute("cy", y(now));
      svg.querySelector(".top").textContent = written(most);
    };
    for (const one of Object.values(input)) one.addEventListener("input", draw);
    draw();
  }
})();
