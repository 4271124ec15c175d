public import Foundation
public import Larch

/// A store is not what a test expects.
///
/// Thrown out of a test, it is shown as a failure by Swift Testing and by XCTest alike.
public struct DumpDifference: Error, LocalizedError, Sendable, CustomStringConvertible {
  /// The lines that differ, as ``TextDifference/between(expected:actual:lineLimit:)`` shows them; nil
  /// where there is nothing to compare with.
  public let lines: String?
  /// The file and the line of the test, as `PeopleTests.swift:31`.
  public let place: String
  /// What is told: the place, what is wrong, the lines.
  public let description: String

  /// The same, for those who ask any error for its words.
  public var errorDescription: String? { description }

  fileprivate init(_ message: String, lines: String? = nil, at file: String, _ line: Int) {
    self.lines = lines
    place = "\(URL(fileURLWithPath: file).lastPathComponent):\(line)"
    description = "\(place): \(message)" + (lines.map { "\n" + $0 } ?? "")
  }
}

extension Store {
  /// So many lines of a difference are shown.
  private static let shownLines = 200

  /// Makes sure that the whole store is as expected.
  ///
  /// ```swift
  /// try store.requireDump(
  ///   ids: .named,
  ///   equals: """
  ///     collection Note: 1 record
  ///       Note#1 {"id":"Note#1","text":"Water the larch"}
  ///     """)
  /// ```
  ///
  /// The text is that of ``dump(_:ids:)``; whether the last line has an end does not matter.
  ///
  /// - Parameters:
  ///   - contents: what is compared.
  ///   - ids: how ids are shown; `.named` where they are others in each run.
  ///   - expected: what the dump should be.
  ///   - file: the test that is shown in the failure.
  ///   - line: its line.
  /// - Throws: ``DumpDifference`` where it differs; what ``dump(_:ids:)`` throws.
  /// - Complexity: that of ``dump(_:ids:)``.
  public func requireDump(
    _ contents: DumpContents = .all, ids: DumpIDs = .stored, equals expected: String,
    file: String = #filePath, line: Int = #line
  ) throws {
    let actual = try dump(contents, ids: ids)
    guard
      let lines = TextDifference.between(
        expected: Self.withEnd(expected), actual: actual, lineLimit: Self.shownLines)
    else { return }
    throw DumpDifference(
      "the store differs from what is expected (-); it has (+)", lines: lines, at: file, line)
  }

  /// Makes sure that the whole store is as a file says that a run before has written.
  ///
  /// ```swift
  /// try store.requireDump(ids: .named, matches: "people.dump")
  /// ```
  ///
  /// The file lies in the folder `Snapshots` beside the test. With the environment variable
  /// `LARCH_RECORD_DUMPS=1` it is written instead of compared: look at what changed before you
  /// commit it.
  ///
  /// - Parameters:
  ///   - contents: what is compared.
  ///   - ids: how ids are shown; `.named` where they are others in each run.
  ///   - name: the name of the file, in `Snapshots` beside `file` unless it begins with `/`.
  ///   - file: the test that is shown in the failure.
  ///   - line: its line.
  /// - Throws: ``DumpDifference`` where it differs, or where the file is not there or is no text;
  ///   what ``dump(_:ids:)`` throws; the error of the file system where it cannot be written.
  /// - Complexity: that of ``dump(_:ids:)``.
  public func requireDump(
    _ contents: DumpContents = .all, ids: DumpIDs = .stored, matches name: String,
    file: String = #filePath, line: Int = #line
  ) throws {
    let snapshot = Snapshot(name, beside: file, recordedBy: "LARCH_RECORD_DUMPS")
    try requireDump(
      contents, ids: ids, matches: name, isRecording: snapshot.isToBeRecorded, file: file,
      line: line)
  }

  package func requireDump(
    _ contents: DumpContents, ids: DumpIDs, matches name: String, isRecording: Bool, file: String,
    line: Int
  ) throws {
    let snapshot = Snapshot(name, beside: file, recordedBy: "LARCH_RECORD_DUMPS")
    let actual = try dump(contents, ids: ids)
    if isRecording { return try snapshot.record(actual) }
    let expected: String
    switch snapshot.read() {
    case .success(let text): expected = text
    case .failure(let reason): throw DumpDifference(reason.message, at: file, line)
    }
    guard
      let lines = TextDifference.between(
        expected: Self.withEnd(expected), actual: actual, lineLimit: Self.shownLines)
    else { return }
    throw DumpDifference(
      "the store differs from \(name) (-); it has (+);"
        + " LARCH_RECORD_DUMPS=1 writes the file again", lines: lines, at: file, line)
  }

  /// A text in a source file has no end of its last line; a dump has, unless it is empty.
  private static func withEnd(_ text: String) -> String {
    text.isEmpty || text.utf8.last == UInt8(ascii: "\n") ? text : text + "\n"
  }
}
