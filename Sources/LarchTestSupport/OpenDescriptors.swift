import Foundation

/// The open descriptors of the process, however many: a suite that runs in parallel has more than
/// the usual thousand.
package func openDescriptors() -> [Int32] {
  #if os(Linux)
    let directory = "/proc/self/fd"
  #else
    let directory = "/dev/fd"
  #endif
  let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
  return names.compactMap { Int32($0) }
}
