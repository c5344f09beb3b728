
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

#include "kernels/interface.hpp"
#include "mpi/mpi.hpp"

namespace rankwise {

namespace {

bool bind_to(long long cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

std::vector<long long> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<long long> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(static_cast<long long>(cpu));
  }
  return cpus;
}

// Received: bytes, packets, errors and five others; sent: likewise.
using InterfaceCounts = std::array<long long, 11>;

// Calls use(name, counts) for each network interface that this rank sees, but for the loopback.
template <class Use>
void each_interface(Use use) {
  std::ifstream devices("/proc/self/net/dev");
  for (std::string text; std::getline(devices, text);) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = text.find_first_not_of(' ');
    const std::string name = text.substr(begin, colon - begin);
    std::istringstream fields(text.substr(colon + 1));
    InterfaceCounts counts{};
    for (long long& count : counts) fields >> count;
    if (name != "lo" && fields) use(name, counts);
  }
}

// Bytes that came in and went out over each network interface that this rank sees, as the system and the InfiniBand
// driver count them: proof that messages crossed a network.
std::string network_bytes_json() {
  JsonLine line("network");
  each_interface([&](const std::string& name, const InterfaceCounts& counts) {
    line.add(name, std::vector<long long>{counts[0], counts[8]});
  });
  namespace fs = std::filesystem;
  std::error_code none;
  for (const fs::directory_entry& device : fs::directory_iterator("/sys/class/infiniband", none)) {
    for (const fs::directory_entry& port : fs::directory_iterator(device.path() / "ports", none)) {
      std::ifstream received(port.path() / "counters/port_rcv_data");
      std::ifstream sent(port.path() / "counters/port_xmit_data");
      std::vector<long long> counts(2, 0);
      constexpr long long bytes_per_count = 4;
      if (received >> counts[0] && sent >> counts[1]) {
        for (long long& count : counts) count *= bytes_per_count;
        line.add(device.path().filename().string() + "/" + port.path().filename().string(), counts);
      }
    }
  }
  return line.text();
}

// How often each network interface lost or found its carrier, and how many packets it damaged: what a loose cable shows.
std::string network_faults_json() {
  JsonLine line("network");
  each_interface([&](const std::string& name, const InterfaceCounts& counts) {
    long long carrier_changes = 0;
    std::ifstream("/sys/class/net/" + name + "/carrier_changes") >> carrier_changes;
    line.add(name, std::vector<long long>{carrier_changes, counts[2] + counts[10]});
  });
  return line.text();
}

// The address at one end of a TCP connection; empty for any other file.
std::string address_of(int (*end_of)(int, sockaddr*, socklen_t*), int file) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (end_of(file, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
  if (address.ss_family == AF_INET) return {reinterpret_cast<const char*>(&v4->sin_addr), sizeof v4->sin_addr};
  return address.ss_family == AF_INET6 ? std::string(reinterpret_cast<const char*>(&v6->sin6_addr), sizeof v6->sin6_addr) : "";
}

// By congestion control of this rank's TCP connections to other hosts: the largest segment that they send, in bytes. The sockets
// themselves say it: routes and containers have settings of their own.
std::string tcp_json() {
  std::map<std::string, long long> found;
  std::error_code none;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator("/proc/self/fd", none)) {
    const int file = std::atoi(entry.path().filename().c_str());
    const std::string peer = address_of(getpeername, file);
    std::array<char, 32> control{};
    socklen_t size = control.size() - 1;
    int segment = 0;
    socklen_t segment_size = sizeof segment;
    if (peer.empty() || peer == address_of(getsockname, file) ||
        getsockopt(file, IPPROTO_TCP, TCP_CONGESTION, control.data(), &size) != 0 ||
        getsockopt(file, IPPROTO_TCP, TCP_MAXSEG, &segment, &segment_size) != 0) {
      continue;
    }
    long long& largest = found[control.data()];
    largest = std::max<long long>(largest, segment);
  }
  JsonLine line("tcp");
  for (const auto& [name, segment] : found) line.add(name, segment);
  return line.text();
}

// Of the system that was started; its containers and namespaces have the same.
long long machine_id() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  return static_cast<long long>(std::hash<std::string>{}(text) >> 12);
}

// The lowest rank of comm with which this one can share memory: what MPI takes for its node.
long long memory_group(MPI_Comm comm) {
  int lowest = rank_of(comm);
  MPI_Bcast(&lowest, 1, MPI_INT, 0, comm_of_node(comm).get());
  return lowest;
}

}  // namespace

void pin_before_init(const std::vector<long long>& cpus) {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* rank = std::getenv(name);
    if (rank == nullptr || cpus.empty()) continue;
    const std::size_t i = std::strtoul(rank, nullptr, 10);
    if (i < cpus.size()) bind_to(cpus[i]);
    return;
  }
}

void pin(const std::vector<long long>& cpus, int rank) {
  if (cpus.empty()) return;
  const auto i = static_cast<std::size_t>(rank);
  if (i >= cpus.size()) {
    throw std::runtime_error("--cpus names " + std::to_string(cpus.size()) + " CPUs, too few for rank " + std::to_string(rank));
  }
  if (!bind_to(cpus[i])) {
    throw std::runtime_error("rank " + std::to_string(rank) + " may not run on CPU " + std::to_string(cpus[i]));
  }
}

std::string placements_json(MPI_Comm comm) {
  unsigned cpu = 0;
  unsigned node = 0;
  syscall(SYS_getcpu, &cpu, &node, nullptr);
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  JsonLine line("placement");
  line.add("rank", static_cast<long long>(rank_of(comm)))
      .add("host", host.data())
      .add("machine", machine_id())
      .add("pid", static_cast<long long>(getpid()))
      .add("cpu", static_cast<long long>(cpu))
      .add("cpus_allowed", allowed_cpus())
      .add("numa_node", static_cast<long long>(node))
      .add("memory_group", memory_group(comm))
      .add_json("network_bytes", network_bytes_json())
      .add_json("network_faults", network_faults_json())
      .add_json("tcp", tcp_json());
  std::string json;
  for (const std::string& each : gathered_texts(comm, line.text())) json += (json.empty() ? "" : ",") + each;
  return "[" + json + "]";
}

Work work_so_far() {
  static const std::vector<long long> allowed = allowed_cpus();
  static const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  Work work;
  std::ifstream stat("/proc/stat");
  for (std::string text; std::getline(stat, text) && text.rfind("cpu", 0) == 0;) {
    std::istringstream fields(text.substr(3));
    long long cpu = -1;
    std::array<long long, 8> ticks{};  // user, nice, system, idle, waiting for devices, interrupts (two), stolen
    if (text[3] == ' ' || !(fields >> cpu)) continue;
    for (long long& count : ticks) fields >> count;
    if (!std::binary_search(allowed.begin(), allowed.end(), cpu)) continue;
    work.busy_s += tick_s * static_cast<double>(ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]);
  }
  work.own_s = processor_s();
  return work;
}

}  // namespace rankwise
