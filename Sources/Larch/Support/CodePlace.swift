/// A place in the code of a program: where it called what a message or an error is about.
public struct CodePlace: Sendable, Hashable, CustomStringConvertible {
  // The text of a literal, which never moves: making a place allocates nothing.
  private let text: StaticString
  /// The line in the file.
  public let line: UInt

  /// The file with its module, as `#fileID` gives it.
  public var file: String { text.description }

  /// Makes a place; without arguments it is the one that asks.
  @inlinable
  public init(file: StaticString = #fileID, line: UInt = #line) {
    self.init(text: file, line: line)
  }

  @usableFromInline
  init(text: StaticString, line: UInt) {
    self.text = text
    self.line = line
  }

  /// The file and the line, as compilers write them: `App/Import.swift:42`.
  public var description: String { "\(text):\(line)" }

  /// Whether both are the same line of the same file.
  public static func == (a: Self, b: Self) -> Bool { a.line == b.line && a.file == b.file }

  /// Feeds the file and the line to the hasher.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(file)
    hasher.combine(line)
  }
}
