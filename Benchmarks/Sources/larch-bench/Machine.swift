import BenchmarkFigures
import Foundation

/// What a reader must know of the computer that the figures are of.
enum Machine {
  static func origin(rounds: Int) -> RunOrigin {
    let day = Date.now.formatted(.iso8601.year().month().day())
    return RunOrigin(date: day, machine: description, rounds: rounds)
  }

  private static var description: String {
    let process = ProcessInfo.processInfo
    let memory = Double(process.physicalMemory) / Double(1 << 30)
    let cores = process.activeProcessorCount
    var parts = [
      processor, "\(cores) core\(cores == 1 ? "" : "s")", "\(decimal(memory, 0)) GB",
      process.operatingSystemVersionString, architecture,
    ]
    // Only whoever started the program knows what it was built with.
    if let toolchain = process.environment["LARCH_BENCH_TOOLCHAIN"], !toolchain.isEmpty {
      parts.append(toolchain)
    }
    return parts.joined(separator: ", ")
  }

  private static var architecture: String {
    #if arch(x86_64)
      "x86_64"
    #elseif arch(arm64)
      "arm64"
    #else
      "another architecture"
    #endif
  }

  private static var processor: String {
    #if canImport(Darwin)
      var size = 0
      sysctlbyname("machdep.cpu.brand_string", nil, &size, nil, 0)
      var bytes = [UInt8](repeating: 0, count: size)
      sysctlbyname("machdep.cpu.brand_string", &bytes, &size, nil, 0)
      return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    #else
      let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
      let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
      let name = line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
      return name ?? "an unnamed processor"
    #endif
  }
}
