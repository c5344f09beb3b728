// The tags of all messages that measurements send, in one place so that no two are alike.
#pragma once

namespace rankwise::tags {

constexpr int clock = 71;
constexpr int pingpong = 72;
constexpr int stream = 73;
constexpr int answer = 74;
constexpr int overhead = 75;
constexpr int call = 76;
constexpr int ready = 77;
constexpr int order = 81;
constexpr int report = 82;
constexpr int payload = 83;
constexpr int go_on = 84;

}  // namespace rankwise::tags
