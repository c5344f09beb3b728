"""What ``rankwise reproduce PAPER --json`` and ``rankwise project table --json`` print, key by key."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from rankwise.machine.link import LinkModel
from rankwise.records import Interval


class Figure(TypedDict):
    key: Annotated[str, "short name of it, the same in all versions"]
    prediction: Annotated[int, "number of the prediction"]
    what: Annotated[str, "what was found, or is to be done"]
    unit: Annotated[str, "unit"]
    printed: Annotated[str, "as printed"]
    published: Annotated[float, "as published"]
    rough: Annotated[bool, "whether it is given in words only"]
    literal: Annotated[float, "our value, by reading"]
    literal_difference: Annotated[float, "ours by theirs, minus 1"]
    literal_within_5_percent: Annotated[bool, "whether it is within 5 %"]
    paper_effective: Annotated[float, "our value, by reading"]
    paper_effective_difference: Annotated[float, "ours by theirs, minus 1"]
    paper_effective_within_5_percent: Annotated[bool, "whether it is within 5 %"]


class Prediction(TypedDict):
    prediction: Annotated[int, "number of the prediction"]
    figures: Annotated[list[Figure], "figures"]


class Figure5(TypedDict):
    design: Annotated[str, "which design of the paper"]
    processors: Annotated[float, "number of processors"]
    peak_flop_per_s: Annotated[float, "peak of the design"]
    memory_s: Annotated[float, "time by the memory"]
    network_s: Annotated[float, "time by the network"]
    sequential_s: Annotated[float, "one after the other, and beside each other"]
    overlapped_s: Annotated[float, "one after the other, and beside each other"]


class Figure6(TypedDict):
    year: Annotated[int, "year"]
    ratio: Annotated[float, "how many times as much, long or fast"]


class Figure6Statement(TypedDict):
    reading: Annotated[str, "how the paper is read"]
    topology: Annotated[str, "how nodes are connected"]
    ratio_2010: Annotated[float, "T_mem / T_net of the year"]
    ratio_2020: Annotated[float, "T_mem / T_net of the year"]
    growth: Annotated[float, "growth in ten years"]
    text_says: Annotated[str, "what the text says"]
    trend_agrees: Annotated[bool, "whether it does"]
    level_agrees: Annotated[bool | None, "whether it does"]
    memory_dominates_2020: Annotated[bool, "whether memory takes longer than the network"]


class Cell(TypedDict):
    key: Annotated[str, "short name of it, the same in all versions"]
    symbol: Annotated[str, "symbol in the paper"]
    design: Annotated[str, "which design of the paper"]
    column: Annotated[str, "column of the paper's table"]
    unit: Annotated[str, "unit"]
    printed: Annotated[str, "as printed"]
    printed_value: Annotated[float, "as printed, in SI units"]
    recomputed_value: Annotated[float, "what follows from the paper's own figures"]
    difference: Annotated[float, "ours by theirs, minus 1"]
    verdict: Annotated[str, "what was found, in a word or a sentence"]
    rule: Annotated[str, "what it follows from"]


class Slip(TypedDict):
    what: Annotated[str, "what was found, or is to be done"]
    printed: Annotated[str, "as printed"]
    printed_value: Annotated[float, "as printed, in SI units"]
    follows: Annotated[float, "what follows"]
    difference: Annotated[float, "ours by theirs, minus 1"]
    rule: Annotated[str, "what it follows from"]


class Table1(TypedDict):
    cells: Annotated[list[Cell], "cells of the table, recomputed"]
    slips: Annotated[list[Slip], "what does not follow from the paper's own figures"]


class Balance(TypedDict):
    machine: Annotated[str, "the machine, or its name"]
    year: Annotated[int, "year"]
    flops_per_word: Annotated[float, "flops a word, what the FFT allows, with stacked memory, and beyond it"]
    allowed: Annotated[float | None, "flops a word, what the FFT allows, with stacked memory, and beyond it"]
    stacked: Annotated[bool, "flops a word, what the FFT allows, with stacked memory, and beyond it"]
    excess: Annotated[float | None, "flops a word, what the FFT allows, with stacked memory, and beyond it"]


class Balances(TypedDict):
    sensitivity_to_twice_the_node_peak: Annotated[dict[str, float], "as predicted, as built, and how far that falls short"]
    balance: Annotated[list[Balance], "flops a word, of machines since"]


class Statement(TypedDict):
    key: Annotated[str, "short name of it, the same in all versions"]
    figure: Annotated[str, "key of the figure"]
    measured: Annotated[str, "what was measured, or when"]
    literal: Annotated[str, "our value, by reading"]
    effective: Annotated[str, "our value, by reading"]
    literal_agrees: Annotated[bool | None, "whether it agrees; null: they say nothing"]
    effective_agrees: Annotated[bool | None, "whether it agrees; null: they say nothing"]


class Hopper(TypedDict):
    n: Annotated[int, "points an axis"]
    flops_s: Annotated[float, "share or time of the term"]
    memory_s: Annotated[float, "time by the memory"]
    shuffle_s: Annotated[float, "share or time of the term"]
    io_bus_s: NotRequired[Annotated[float | None, "share or time of the term"]]
    network_s: Annotated[float, "time by the network"]


class Gpu(TypedDict):
    flops_s: Annotated[float, "share or time of the term"]
    memory_s: Annotated[float, "time by the memory"]
    shuffle_s: Annotated[float, "share or time of the term"]
    io_bus_s: NotRequired[Annotated[float | None, "share or time of the term"]]
    network_s: Annotated[float, "time by the network"]


class Share(TypedDict):
    io_bus: Annotated[float, "share or time of the term"]
    fft: Annotated[float, "share or time of the term"]
    shuffle: Annotated[float, "moving data within a rank"]
    network: Annotated[float, "share or time of the term"]


class Keeneland(TypedDict):
    gpu: Annotated[Gpu, "terms of the nodes"]
    cpu: Annotated[Gpu, "terms of the nodes"]
    shares: Annotated[Share, "shares of the time"]


class Measured(TypedDict):
    statements: Annotated[list[Statement], "sentences on Figures 2 to 4"]
    hopper: Annotated[dict[str, list[Hopper]], "terms on that machine"]
    keeneland: Annotated[dict[str, Keeneland], "terms on that machine"]


class DoublingTime(TypedDict):
    quantity: Annotated[str, "which figure"]
    name: Annotated[str, "name"]
    year: Annotated[int, "year"]
    value: Annotated[float, "the figure"]
    kind: Annotated[str, "of which kind it is"]
    source: Annotated[str, "where the figures are from"]
    unit: Annotated[str, "unit"]
    assumed_years: Annotated[float, "in which figures double: assumed, and real"]
    real_years: Annotated[float, "in which figures double: assumed, and real"]
    predicted_value: Annotated[float, "as the trend has it"]


class LargestStep(TypedDict):
    field_bytes_per_node: Annotated[float, "bytes of one field on a node"]
    exchange_s: Annotated[float, "exchange of all fields"]
    network_connected_s: Annotated[float, "by each model of the network"]
    network_tapered_s: Annotated[float, "by each model of the network"]
    network_torus_s: Annotated[float, "by each model of the network"]
    network_measured_s: Annotated[float, "by each model of the network"]
    share_of_injection: Annotated[float, "share of what nodes inject, and what that is"]
    memory_literal_s: Annotated[float, "by each constant of the memory"]
    memory_effective_cpu_s: Annotated[float, "by each constant of the memory"]
    memory_effective_gpu_s: Annotated[float, "by each constant of the memory"]
    memory_measured_s: Annotated[list[float], "by each constant of the memory"]
    memory_constant_measured: Annotated[list[float], "by each constant of the memory"]
    mem_over_net_measured: Annotated[list[float], "memory against network, and the reverse"]
    net_over_mem_measured: Annotated[list[float], "memory against network, and the reverse"]
    fraction_of_peak: Annotated[list[float], "as a fraction"]
    performance_flop_per_s: Annotated[list[float], "flops of the algorithm by the time"]
    assumed_transforms: Annotated[int, "transforms of a step that were assumed"]


class LibraryRun(TypedDict):
    library: Annotated[str, "rates of 3-D FFTs"]
    n: Annotated[int, "points an axis"]
    processors: Annotated[int, "number of processors"]
    flop_per_s: Annotated[float, "rate of local FFTs, one rank"]
    injection_bytes_per_s: Annotated[float, "share of what nodes inject, and what that is"]
    exchanges: Annotated[int, "exchanges of an FFT"]
    source: Annotated[str, "where the figures are from"]
    time_s: Annotated[float, "time of a round, the slowest rank's"]
    network_connected_s: Annotated[float, "by each model of the network"]
    share_explained: Annotated[float, "as a fraction"]
    fraction_of_fp64_peak: Annotated[float, "as a fraction"]


class SinceBalance(TypedDict):
    predicted_2020: Annotated[float, "as predicted, as built, and how far that falls short"]
    frontier_die: Annotated[float, "as predicted, as built, and how far that falls short"]
    shortfall: Annotated[float, "as predicted, as built, and how far that falls short"]


class Frontier(TypedDict):
    nodes: Annotated[float, "number of nodes, or the ranks of each"]
    memory_s: Annotated[float, "time by the memory"]
    network_injection_s: Annotated[float, "by each model of the network"]
    network_own_s: Annotated[float, "by each model of the network"]


class SwimMachines(TypedDict):
    frontier: Annotated[Frontier, "terms on that machine"]
    fugaku: Annotated[Frontier, "terms on that machine"]


class SwimLane(TypedDict):
    n: Annotated[int, "points an axis"]
    machines: Annotated[SwimMachines, "one entry a machine, or how many"]
    cpu_over_gpu_injection: Annotated[float, "CPU-like against GPU-like nodes"]
    cpu_over_gpu_own_network: Annotated[float, "CPU-like against GPU-like nodes"]


class WeakScaling(TypedDict):
    n: Annotated[int, "points an axis"]
    nodes: Annotated[int, "number of nodes, or the ranks of each"]
    step_low_s: Annotated[float, "range that was published"]
    step_high_s: Annotated[float, "range that was published"]
    model_network_s: Annotated[float, "by the model"]
    model_memory_s: Annotated[float, "by the model"]
    source: Annotated[str, "where the figures are from"]


class Verdict(TypedDict):
    prediction: Annotated[int, "number of the prediction"]
    claim: Annotated[str, "what was predicted"]
    held: Annotated[bool | None, "whether it does; null: nobody could see"]
    interval: Annotated[list[float], "95 % interval"]
    why: NotRequired[Annotated[str, "the cause"]]


class Since(TypedDict):
    doubling_times: Annotated[list[DoublingTime], "in which figures double: assumed, and real"]
    largest_step: Annotated[LargestStep, "runs that were published since"]
    library_run: Annotated[LibraryRun, "runs that were published since"]
    balance: Annotated[SinceBalance, "flops a word, of machines since"]
    swim_lanes: Annotated[SwimLane, "runs that were published since"]
    weak_scaling: Annotated[list[WeakScaling], "runs that were published since"]
    verdicts: Annotated[list[Verdict], "by prediction"]


class Czechowski2012(TypedDict):
    paper: Annotated[str, "the paper's id"]
    readings: Annotated[dict[str, str], "how the paper can be read"]
    predictions: Annotated[list[Prediction], "how many predictions; of a paper each with its figures"]
    figure5: Annotated[dict[str, list[Figure5]], "the figure, by reading"]
    figure6: Annotated[dict[str, dict[str, list[Figure6]]], "the figure, by reading"]
    figure6_statements: Annotated[list[Figure6Statement], "what the text says of Figure 6"]
    exact_bisection_performance_flop_per_s: Annotated[dict[str, float], "with the exact bisection"]
    table1: Annotated[Table1, "Table 1, recomputed"]
    balance: Annotated[Balances, "flops a word, of machines since"]
    measured: Annotated[Measured, "what was measured, or when"]
    since: Annotated[Since, "what was built since"]
    answer: Annotated[list[str], "the answer in sentences"]
    files: Annotated[list[str], "files that were written"]


class Claim(TypedDict):
    key: Annotated[str, "short name of it, the same in all versions"]
    section: Annotated[str, "section of the paper"]
    says: Annotated[str, "the sentence"]
    holds: Annotated[bool, "whether it does; null: nobody could see"]
    numbers: Annotated[str, "ours, in words"]


class Reduction(TypedDict):
    stencil: Annotated[str, "stencil"]
    objective: Annotated[str, "what is made small"]
    mapper: Annotated[str, "id of the mapping"]
    median: Annotated[float, "of the distribution"]
    notch: Annotated[list[float], "of the distribution"]
    quartiles: Annotated[list[float], "of the distribution"]
    instances: Annotated[int, "by instance"]


class Score(TypedDict):
    j_sum: Annotated[int, "messages or bytes between nodes, in all"]
    j_max: Annotated[int, "those of the node that sends most"]


class Instance(TypedDict):
    nodes: Annotated[int, "number of nodes, or the ranks of each"]
    ranks_per_node: Annotated[int, "ranks on each node"]
    grid: Annotated[list[int], "cells or ranks along each axis"]
    stencil: Annotated[str, "stencil"]
    bound: Annotated[int, "what no placement falls below"]
    scores: Annotated[dict[str, Score], "J_sum and J_max of each mapping"]


class Line(TypedDict):
    machine: Annotated[str, "the machine, or its name"]
    a_s: Annotated[float, "of the line"]
    b_s_per_byte: Annotated[float, "of the line"]
    times: Annotated[int, "number of times"]
    explained_log_variance: Annotated[float, "share of the variance of logarithms"]
    mean_absolute_error: Annotated[float, "as a fraction"]
    median_published_over_line: Annotated[dict[str, float], "published time by the line's"]


class SpeedupsSaid(TypedDict):
    nodes: Annotated[int, "number of nodes, or the ranks of each"]
    stencil: Annotated[str, "stencil"]
    mappings: Annotated[list[str], "placements of the example grids"]
    machine: Annotated[str, "the machine, or its name"]
    says: Annotated[float, "the sentence"]
    largest: Annotated[float, "the largest that is printed"]
    message_bytes: Annotated[int, "size of a message or block"]
    holds: Annotated[bool, "whether it does; null: nobody could see"]


class Hunold2020(TypedDict):
    claims: Annotated[list[Claim], "sentences of the paper"]
    reduction: Annotated[list[Reduction], "against blocked, over all instances"]
    instances: Annotated[list[Instance], "by instance"]
    throughput_grids: Annotated[list[Instance], "the two large grids"]
    lines: Annotated[list[Line], "by machine and mapping"]
    speedups_said: Annotated[list[SpeedupsSaid], "speed-ups that the text prints"]
    instantiation_s: Annotated[dict[str, float], "making a placement"]
    kept: Annotated[int, "how many are kept"]
    campaign: Annotated[int, "campaigns or tables that the figures are of"]
    answer: Annotated[list[str], "the answer in sentences"]
    files: Annotated[list[str], "files that were written"]


class BandwidthDrop(TypedDict):
    peak_bytes: Annotated[int, "where it is highest, lowest, and as high again"]
    peak_bytes_per_s: Annotated[float, "where it is highest, lowest, and as high again"]
    bottom_bytes: Annotated[int, "where it is highest, lowest, and as high again"]
    bottom_bytes_per_s: Annotated[float, "where it is highest, lowest, and as high again"]
    recovered_bytes: Annotated[int, "where it is highest, lowest, and as high again"]


class Effect(TypedDict):
    constant_latency_up_to_bytes: Annotated[int, "up to where latency is constant, and what it is"]
    constant_latency_s: Annotated[float, "up to where latency is constant, and what it is"]
    bandwidth_drop: Annotated[BandwidthDrop | None, "where bandwidth falls as messages grow; null: nowhere"]
    saturated_from_bytes: Annotated[int | None, "from where bandwidth grows no more, and what it is"]
    saturated_bytes_per_s: Annotated[float | None, "from where bandwidth grows no more, and what it is"]
    growth_exponent: Annotated[float | None, "slope of bandwidth over size, both logarithmic; null: too few sizes"]
    largest_sigma_share: Annotated[float, "largest standard deviation against its mean, and at which size"]
    largest_sigma_share_bytes: Annotated[int, "largest standard deviation against its mean, and at which size"]


class Row(TypedDict):
    message_bytes: Annotated[int, "size of a message or block"]
    latency_s: Annotated[float, "one way of the smallest message; of a projection the start of a message"]
    latency_sigma_s: Annotated[float, "standard deviation"]
    bandwidth_bytes_per_s: Annotated[float | None, "size by time of the largest message"]
    bandwidth_sigma_bytes_per_s: Annotated[float | None, "standard deviation"]


class PaperLink(TypedDict):
    link: Annotated[str, "link class"]
    runs: Annotated[int, "number of runs"]
    alpha_s: Annotated[float, "start of a message by the model"]
    alpha_ci_s: Annotated[Interval, "95 % interval of alpha_s"]
    beta_s_per_byte: Annotated[float, "time of a byte by the model"]
    beta_ci_s_per_byte: Annotated[Interval, "95 % interval of beta_s_per_byte"]
    hockney: Annotated[LinkModel, "the model's figures"]
    piecewise: Annotated[LinkModel, "the model's figures"]
    effects: Annotated[Effect, "what the figures show"]
    rows: Annotated[list[Row], "one entry a case"]


class Remark(TypedDict):
    says: Annotated[str, "the sentence"]
    figures: Annotated[str, "figures"]
    holds: Annotated[bool, "whether it does; null: nobody could see"]


class Wagner2024(TypedDict):
    paper: Annotated[str, "the paper's id"]
    placements: Annotated[list[PaperLink], "the paper's placements"]
    farther_is_faster_bytes: Annotated[list[int], "sizes at which the farther link is faster"]
    measured: Annotated[list[PaperLink], "what was measured, or when"]
    lacking: Annotated[list[str], "which runs lack a part, in words"]
    remarks: Annotated[list[Remark], "what the text says of its tables"]
    answer: Annotated[list[str], "the answer in sentences"]
    files: Annotated[list[str], "files that were written"]


class Model(TypedDict):
    model: Annotated[str, "name of the model that predicts"]
    what: Annotated[str, "what was found, or is to be done"]
    parameters: Annotated[dict[str, float], "figures by name"]
    parameters_ci: Annotated[dict[str, list[float]], "95 % interval of parameters"]
    mape: Annotated[float, "mean absolute error"]
    mape_leave_one_size_out: Annotated[float, "fitted without the size"]
    mape_by_size: Annotated[dict[str, float], "by message size"]


class Crossover(TypedDict):
    order: Annotated[str, "order of the data"]
    reading: Annotated[str, "how the paper is read"]
    message_bytes: Annotated[int, "size of a message or block"]
    first: Annotated[int, "least cutoff at which it is faster, for good, and beyond both intervals"]
    always: Annotated[int, "least cutoff at which it is faster, for good, and beyond both intervals"]
    surely: Annotated[int | None, "least cutoff at which it is faster, for good, and beyond both intervals"]


class TradeoffRow(TypedDict):
    order: Annotated[str, "order of the data"]
    reading: Annotated[str, "how the paper is read"]
    message_bytes: Annotated[int, "size of a message or block"]
    cutoff: Annotated[int, "layers of neighbours"]
    shift_s: Annotated[float, "time of each"]
    shift_ci_s: Annotated[Interval, "95 % interval of shift_s"]
    team_shift_s: Annotated[float, "time of each"]
    team_shift_ci_s: Annotated[Interval, "95 % interval of team_shift_s"]
    replication: Annotated[int, "copies c of each block"]
    faster: Annotated[str, "which is faster"]
    intervals_overlap: Annotated[bool, "whether they cannot be told apart"]


class Tradeoff(TypedDict):
    boxes: Annotated[int, "boxes of a team"]
    crossovers: Annotated[list[Crossover], "where another one takes over"]
    rows: Annotated[list[TradeoffRow], "one entry a case"]


class PingPong(TypedDict):
    message_bytes: Annotated[int, "size of a message or block"]
    latency_s: Annotated[float, "one way of the smallest message; of a projection the start of a message"]
    sigma_s: Annotated[float, "standard deviation"]
    beta_s_per_byte: Annotated[float | None, "time of a byte by the model"]


class CutoffRow(TypedDict):
    table: Annotated[int, "number of the paper's table"]
    message_bytes: Annotated[int, "size of a message or block"]
    cutoff: Annotated[int, "layers of neighbours"]
    measured_s: Annotated[float, "measured time"]
    measured_sigma_s: Annotated[float, "standard deviation"]
    published_prediction_s: Annotated[float, "predicted time by each"]
    our_prediction_s: Annotated[float, "predicted time by each"]
    hockney_prediction_s: Annotated[float, "predicted time by each"]
    max_rate_prediction_s: Annotated[float, "predicted time by each"]


class Werner2023(TypedDict):
    paper: Annotated[str, "the paper's id"]
    published_prediction_max_abs_diff_ns: Annotated[float, "ours against the published prediction at most, ns"]
    rows_count: Annotated[int, "number of rows"]
    mape_published: Annotated[float, "of the published prediction, per cent"]
    mape_unit: Annotated[str, "unit of every mape"]
    bias_published: Annotated[float, "of the published prediction, per cent"]
    share_inside_sigma_published: Annotated[float, "share of rows within a standard deviation"]
    median_sigma_of_mean: Annotated[float, "median of standard deviation by mean"]
    mape_published_without_its_ping_pong: Annotated[float, "of the look-up where the ping-pong lacks the size"]
    models: Annotated[list[Model], "by name"]
    best_model: Annotated[str, "name of ours"]
    mape_noise_floor: Annotated[float, "of a line in k, each k from the others"]
    mape_noise_floor_by_size: Annotated[dict[str, float], "of a line in k, each k from the others"]
    tradeoff: Annotated[Tradeoff, "where Team Shift is faster"]
    ping_pong: Annotated[list[PingPong], "Table 1"]
    rows: Annotated[list[CutoffRow], "one entry a case"]
    answer: Annotated[list[str], "the answer in sentences"]
    files: Annotated[list[str], "files that were written"]


class Trend(TypedDict):
    key: Annotated[str, "short name of it, the same in all versions"]
    symbol: Annotated[str, "symbol in the paper"]
    meaning: Annotated[str, "what it is"]
    unit: Annotated[str, "unit"]
    doubling_years: Annotated[float, "in which it doubles"]
    ten_year_factor: Annotated[float, "growth in ten years"]
    base: Annotated[dict[str, float], "figures of 2010, by design"]


class Value(TypedDict):
    key: Annotated[str, "short name of it, the same in all versions"]
    symbol: Annotated[str, "symbol in the paper"]
    design: Annotated[str, "which design of the paper"]
    unit: Annotated[str, "unit"]
    value: Annotated[float, "the figure"]
    value_by_doubling_time: Annotated[float, "the figure by its doubling time"]


class TrendTable(TypedDict):
    paper: Annotated[str, "the paper's id"]
    year: Annotated[float, "year"]
    trends: Annotated[list[Trend], "by figure, how it grew"]
    cells: Annotated[list[Cell], "cells of the table, recomputed"]
    contradictions: Annotated[list[Cell], "cells that contradict the trends"]
    slips: Annotated[list[Slip], "what does not follow from the paper's own figures"]
    values: Annotated[list[Value], "figures of the year asked for"]
