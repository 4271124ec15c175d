import Foundation

/// The descriptors that the process has open, however many there are: a suite that runs in parallel
/// has more than the thousand that are usual.
package func openDescriptors() -> [Int32] {
  #if os(Linux)
    let directory = "/proc/self/fd"
  #else
    let directory = "/dev/fd"
  #endif
  let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
  return names.compactMap { Int32($0) }
}
