internal import Foundation
internal import Larch

/// One line of an export after its header.
enum ExportLine {
  /// A record of the collection at this place in the header.
  case record(collection: Int, id: [UInt8], ExportRecord)
  /// A part of the list of one record of the first end, for the association at this place.
  case links(association: Int, first: [UInt8], second: [[UInt8]])
}

/// A record from a line, before its shapes in the store are known.
struct ExportRecord {
  let node: JSONNode
  /// Whether it has a shape.
  let isRecord: Bool

  /// Its stored bytes.
  func bytes(_ reader: inout RecordTextReader) throws -> [UInt8] {
    try isRecord ? reader.record(node) : reader.value(node)
  }
}

/// Reads an export line by line, and checks that it is complete.
final class ExportLines {
  let header: ExportHeader
  /// The number of bytes read, and the length of the file.
  var offset: Int { scanner.offset }
  let size: Int
  /// The number of the last line.
  private(set) var line = 0

  private let scanner: JSONElementScanner
  private var idWriter = KeyWriter()
  private let places: [String: Int]
  private let listPlaces: [String: Int]
  private var recordCounts: [Int]
  private var linkCounts: [Int]
  /// The last id of each collection: lines are in the order of ids, so no id is repeated.
  private var lastIDs: [[UInt8]]
  private var isAtEnd = false

  /// Reads the first line.
  init(_ source: JSONSource) throws {
    let bytes = try source.open()
    size = bytes.count
    var options = ImportOptions()
    options.format = .lines
    // A record has at most 64 MiB, and up to four times as many bytes as text.
    options.elementSizeLimit = 512 << 20
    scanner = JSONElementScanner(bytes, options)
    guard let first = try scanner.next() else {
      throw LarchError(.truncated, "The file is empty; an export begins with a header.")
    }
    line = first.place.line
    do {
      header = try ExportHeader(try ExportLines.node(first))
    } catch let problem as ExportHeader.Problem {
      throw ExportLines.error(
        problem.isNewer ? .newerFormat : .invalidJSON, problem.reason, line: first.place.line,
        problem.detail)
    }
    places = Dictionary(
      uniqueKeysWithValues: header.collections.enumerated().map { ($1.name, $0) })
    listPlaces = Dictionary(
      uniqueKeysWithValues: header.associations.enumerated().filter { $1.kind == .links }
        .map { ($1.key, $0) })
    recordCounts = Array(repeating: 0, count: header.collections.count)
    lastIDs = Array(repeating: [], count: header.collections.count)
    linkCounts = Array(repeating: 0, count: header.associations.count)
  }

  /// The next line; nil at the end, once the last line has shown that nothing is missing.
  func next() throws -> ExportLine? {
    guard let element = try scanner.next() else {
      guard isAtEnd else {
        throw ExportLines.error(
          .truncated, "The export was cut off: its last line, which counts the others, is missing.",
          line: line)
      }
      return nil
    }
    line = element.place.line
    let node = try ExportLines.node(element)
    guard !isAtEnd else { throw error("There is text after the last line of the export.") }
    guard case .object(let members) = node, let names = node.members else {
      throw error("Each line of an export must be a JSON object without repeated names.")
    }
    if let name = names["collection"] { return try record(name, names, count: members.count) }
    if let key = names["association"] { return try links(key, names, count: members.count) }
    guard let end = names["end"], members.count == 1 else {
      throw error("The line is not a known kind of line of an export.")
    }
    try check(end)
    isAtEnd = true
    return try next()
  }

  // MARK: Lines

  private func record(
    _ name: JSONNode, _ members: [String: JSONNode], count: Int
  ) throws -> ExportLine {
    guard let place = name.string.flatMap({ places[$0] }) else {
      throw error("The header of the export does not have this collection.", name.string)
    }
    guard count == 3, let id = members["id"],
      let node = members["record"] ?? members["value"]
    else {
      throw error("A line of a record must have `collection`, `id`, and `record` or `value`.")
    }
    let bytes = try self.id(id, header.collections[place])
    let isRising = bytes.withUnsafeBytes { bytes in
      lastIDs[place].withUnsafeBytes { $0.precedes(bytes) }
    }
    guard isRising else {
      throw error("The ids of a collection must increase from line to line.", name.string)
    }
    lastIDs[place] = bytes
    recordCounts[place] += 1
    return .record(
      collection: place, id: bytes,
      ExportRecord(node: node, isRecord: members["record"] != nil))
  }

  private func links(
    _ key: JSONNode, _ members: [String: JSONNode], count: Int
  ) throws -> ExportLine {
    guard let place = key.string.flatMap({ listPlaces[$0] }) else {
      throw error("The header of the export does not have this association.", key.string)
    }
    let association = header.associations[place]
    guard count == 3, let first = members["first"], let second = members["second"]?.array,
      let firstEnd = places[association.first], let secondEnd = places[association.second]
    else { throw error("A line of a list must have `association`, `first` and `second`.") }
    linkCounts[place] += second.count
    return .links(
      association: place, first: try id(first, header.collections[firstEnd]),
      second: try second.map { try id($0, header.collections[secondEnd]) })
  }

  private func id(_ node: JSONNode, _ collection: ExportHeader.Collection) throws -> [UInt8] {
    guard ExportID.write(node, collection.idKind, to: &idWriter) else {
      throw error("The id does not have the kind of the collection's ids.", collection.name)
    }
    return [UInt8](idWriter.bytes)
  }

  private func check(_ end: JSONNode) throws {
    guard let members = end.members, let records = members["records"]?.members,
      let links = members["links"]?.members
    else { throw error("The last line of the export has no counts of the other lines.") }
    for (place, collection) in header.collections.enumerated()
    where records[collection.name]?.integer(Int.self) != recordCounts[place] {
      throw error(
        "The export has fewer records than its last line says; a part is missing.",
        collection.name)
    }
    for (place, association) in header.associations.enumerated()
    where association.kind == .links
      && links[association.key]?.integer(Int.self) != linkCounts[place]
    {
      throw error(
        "The export has fewer links than its last line says; a part is missing.",
        association.key)
    }
  }

  // MARK: Errors

  private static func node(_ element: ScannedElement) throws -> JSONNode {
    if let problem = element.problem {
      throw located(problem, line: element.place.line)
    }
    do {
      return try JSONNode(element.bytes)
    } catch let problem as JSONNode.Problem {
      throw error(
        .invalidJSON, problem.reason, line: element.place.line, "byte \(problem.offset + 1)")
    }
  }

  private static func error(
    _ code: LarchError.Code, _ reason: StaticString, line: Int, _ detail: String? = nil
  ) -> LarchError {
    LarchError(code, reason) {
      $0.detail = "line \(line)" + (detail.map { ", \($0)" } ?? "")
    }
  }

  /// An error about the last line.
  func error(_ reason: StaticString, _ detail: String? = nil) -> LarchError {
    ExportLines.error(.invalidJSON, reason, line: line, detail)
  }

  /// An error that concerns a line, with the number of the line.
  static func located(_ error: any Error, line: Int) -> any Error {
    switch error {
    case var error as LarchError:
      let place = "line \(line)"
      error.context.detail = error.context.detail.map { "\(place), \($0)" } ?? place
      return error
    case let problem as RecordTextReader.Problem:
      return self.error(
        .invalidJSON, problem.reason, line: line,
        problem.path.isEmpty ? nil : "field \(problem.path)")
    default: return error
    }
  }
}

/// Ids as JSON: numbers, or text for other ids.
enum ExportID {
  /// The id of stored bytes; nil if they are not of this kind.
  static func text(of id: UnsafeRawBufferPointer, _ kind: RecordIDKind) -> [UInt8]? {
    var writer = JSONTextWriter()
    switch kind {
    case .assigned, .integer, .unsigned:
      guard id.count == 8 else { return nil }
      writer.raw(kind.text(of: id))
    case .uuid:
      guard id.count == 16 else { return nil }
      writer.text(kind.text(of: id))
    case .string:
      guard id.count >= 1, id[0] == 1,
        let text = String(validating: id.dropFirst(), as: UTF8.self)
      else { return nil }
      writer.text(text)
    }
    return writer.bytes
  }

  /// Writes the stored bytes of an id; false if the JSON is not an id of this kind.
  static func write(
    _ node: JSONNode, _ kind: RecordIDKind, to writer: inout KeyWriter
  ) -> Bool {
    writer.clear()
    switch kind {
    case .assigned:
      guard let number = node.integer(Int64.self), number > 0 else { return false }
      writer.append(int64: number)
    case .integer:
      guard let number = node.integer(Int64.self) else { return false }
      writer.append(int64: number)
    case .unsigned:
      guard let number = node.integer(UInt64.self) else { return false }
      writer.append(uint64: number)
    case .uuid:
      guard let uuid = node.string.flatMap({ UUID(uuidString: $0) }) else { return false }
      withUnsafeBytes(of: uuid.uuid) { writer.append(uuid: $0) }
    case .string:
      guard let text = node.string else { return false }
      return writer.append(idString: text)
    }
    return true
  }
}
