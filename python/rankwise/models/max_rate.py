"""The max-rate model: what messages share, a node's injection limit, and what a busy network adds above a size."""

from __future__ import annotations

import dataclasses

from rankwise.machine.link import LinkModel, Segment


def with_contention(model: LinkModel, factor: float, from_bytes: int) -> LinkModel:
    """Return a model whose messages of at least ``from_bytes`` take ``factor`` times as long: the network is busy.

    A ping-pong alone on the network cannot show this; the factor comes from messages sent by all ranks at once.
    """
    segments: list[Segment] = []
    for segment in model.segments:
        if segment.to_bytes is not None and segment.to_bytes <= from_bytes:
            segments.append(segment)
            continue
        if segment.from_bytes < from_bytes:
            segments.append(dataclasses.replace(segment, to_bytes=from_bytes))
        segments.append(
            Segment(
                max(segment.from_bytes, from_bytes),
                segment.to_bytes,
                factor * segment.alpha_s,
                factor * segment.beta_s_per_byte,
            )
        )
    return LinkModel(
        "max-rate", tuple(segments), f"{model.method}; times {factor:.3f} from {from_bytes} B on", model.relative_error
    )
