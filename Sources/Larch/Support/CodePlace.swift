/// A place in the code of a program: the call that a message or an error is about.
public struct CodePlace: Sendable, Hashable, CustomStringConvertible {
  // The text of a literal, which never moves, so that creating a place allocates nothing.
  private let text: StaticString
  /// The line in the file.
  public let line: UInt

  /// The file with its module, as `#fileID` gives it.
  public var file: String { text.description }

  /// Creates a place; without arguments, that of the call.
  @inlinable
  public init(file: StaticString = #fileID, line: UInt = #line) {
    self.init(text: file, line: line)
  }

  @usableFromInline
  init(text: StaticString, line: UInt) {
    self.text = text
    self.line = line
  }

  /// The file and the line in the format of compilers: `App/Import.swift:42`.
  public var description: String { "\(text):\(line)" }

  /// Whether both are the same line of the same file.
  public static func == (a: Self, b: Self) -> Bool { a.line == b.line && a.file == b.file }

  /// Hashes the file and the line.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(file)
    hasher.combine(line)
  }
}
