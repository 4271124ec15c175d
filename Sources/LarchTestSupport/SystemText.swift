import Foundation

/// The whole text of a file that the system makes while it is read, such as `/proc/locks`.
///
/// Foundation takes a short read for the end of such a file: `String(contentsOfFile:)` has the first 4,096 bytes.
package func systemText(_ path: String) throws -> String {
  let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
  defer { try? file.close() }
  return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
}
