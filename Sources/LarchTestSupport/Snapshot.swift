import Foundation

/// A text that an earlier run of a test wrote beside it, for comparison.
struct Snapshot {
  let name: String
  let url: URL
  /// The environment variable that makes a run write it instead of comparing.
  let variable: String

  /// - Parameters:
  ///   - name: the name in the folder `Snapshots` beside the test, unless it begins with `/`.
  ///   - test: the path of the test.
  init(_ name: String, beside test: String, recordedBy variable: String) {
    self.name = name
    self.variable = variable
    url =
      name.hasPrefix("/")
      ? URL(fileURLWithPath: name)
      : URL(fileURLWithPath: test).deletingLastPathComponent()
        .appendingPathComponent("Snapshots").appendingPathComponent(name)
  }

  /// Whether this run writes it.
  var isToBeRecorded: Bool {
    !["", "0"].contains(ProcessInfo.processInfo.environment[variable] ?? "")
  }

  func record(_ text: String) throws {
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url, options: .atomic)
  }

  /// The text, or the reason why there is none.
  func read() -> Result<String, Unreadable> {
    guard let data = try? Data(contentsOf: url) else {
      return .failure(
        Unreadable(
          message: "\(url.path) cannot be read; run the test with \(variable)=1 to write it"))
    }
    guard let text = String(data: data, encoding: .utf8) else {
      return .failure(Unreadable(message: "\(url.path) is not UTF-8 text"))
    }
    return .success(text)
  }

  struct Unreadable: Error {
    let message: String
  }
}
