public import Foundation
public import Larch

/// A store differs from what a test expects.
///
/// If a test throws it, Swift Testing and XCTest show it as a failure.
public struct DumpDifference: Error, LocalizedError, Sendable, CustomStringConvertible {
  /// The lines that differ, in the form of ``TextDifference/between(expected:actual:lineLimit:)``;
  /// nil if there is nothing to compare with.
  public let lines: String?
  /// The file and the line of the test, such as `PeopleTests.swift:31`.
  public let place: String
  /// The place, the fault, and the lines.
  public let description: String

  /// The description, for code that uses localized errors.
  public var errorDescription: String? { description }

  fileprivate init(_ message: String, lines: String? = nil, at file: String, _ line: Int) {
    self.lines = lines
    place = "\(URL(fileURLWithPath: file).lastPathComponent):\(line)"
    description = "\(place): \(message)" + (lines.map { "\n" + $0 } ?? "")
  }
}

extension Store {
  /// The maximum number of lines of a difference.
  private static let shownLines = 200

  /// Checks that the whole store is as expected.
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
  /// The text is that of ``dump(_:ids:)``; a line end after the last line is optional.
  ///
  /// - Parameters:
  ///   - contents: the contents to compare.
  ///   - ids: the form of ids; `.named` if they differ in each run.
  ///   - expected: the expected dump.
  ///   - file: the test file for the failure.
  ///   - line: its line.
  /// - Throws: ``DumpDifference`` if it differs; the errors of ``dump(_:ids:)``.
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

  /// Checks that the whole store is as in a file from an earlier run.
  ///
  /// ```swift
  /// try store.requireDump(ids: .named, matches: "people.dump")
  /// ```
  ///
  /// The file is in the folder `Snapshots` beside the test. With the environment variable
  /// `LARCH_RECORD_DUMPS=1` it is written instead of compared: review the changes before you commit
  /// them.
  ///
  /// - Parameters:
  ///   - contents: the contents to compare.
  ///   - ids: the form of ids; `.named` if they differ in each run.
  ///   - name: the name of the file, in `Snapshots` beside `file` unless it begins with `/`.
  ///   - file: the test file for the failure.
  ///   - line: its line.
  /// - Throws: ``DumpDifference`` if it differs, or if the file is missing or is not text; the
  ///   errors of ``dump(_:ids:)``; the error of the file system if it cannot be written.
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

  /// A text in a source file has no end of its last line; a dump has one, unless it is empty.
  private static func withEnd(_ text: String) -> String {
    text.isEmpty || text.utf8.last == UInt8(ascii: "\n") ? text : text + "\n"
  }
}
