internal import Foundation

/// Writes records as one JSON text, a piece at a time.
struct RecordExporter<R: Record> {
  private static var pieceSize: Int { 256 << 10 }

  private let encoder: JSONEncoder
  private let options: ExportOptions
  private let write: (Data) throws -> Void
  private let progress: ((ExportProgress) -> Void)?
  /// The keys of optional properties that have a default other than nil.
  private let nullable: [(key: String, isNil: @Sendable (R) -> Bool)]
  private var piece = Data()
  private(set) var count = 0
  private var bytes = 0

  init(
    _ options: ExportOptions, _ progress: ((ExportProgress) -> Void)?,
    _ write: @escaping (Data) throws -> Void
  ) {
    self.options = options
    self.progress = progress
    self.write = write
    encoder = options.makeEncoder()
    nullable = R.schema.defaults.compactMap { declaration in
      guard case .stored(let names, _) = declaration.resolve(), names.count == 1,
        (declaration.value as? any OptionalType)?.isNil == false
      else { return nil }
      return (names[0], declaration.isNil)
    }
    if options.isPretty, options.format == .array {
      encoder.outputFormatting.insert(.prettyPrinted)
    } else {
      // In the format of lines, an element must be on one line.
      encoder.outputFormatting.remove(.prettyPrinted)
    }
  }

  mutating func add(_ record: R) throws {
    let element: Data
    do {
      element = try encoder.encode(ExportedElement(record: record, nullable: nullable))
    } catch {
      throw LarchError(
        .encodingFailed, "A record cannot be written as JSON; see the cause.", underlying: error
      ) {
        $0.collection = R.collectionName
        $0.id = "\(record.id)"
      }
    }
    switch options.format {
    case .array: piece.append(contentsOf: count == 0 ? "[\n".utf8 : ",\n".utf8)
    case .lines: break
    }
    piece.append(element)
    if options.format == .lines { piece.append(0x0A) }
    count += 1
    if piece.count >= RecordExporter.pieceSize { try flush() }
  }

  /// Writes the remaining bytes.
  mutating func finish() throws {
    if options.format == .array {
      piece.append(contentsOf: count == 0 ? "[]\n".utf8 : "\n]\n".utf8)
    }
    try flush()
  }

  private mutating func flush() throws {
    try write(piece)
    bytes += piece.count
    piece.removeAll(keepingCapacity: true)
    progress?(ExportProgress(records: count, bytes: bytes))
  }
}

/// A record for an import to read back: a nil is null if an absent key would mean another value.
private struct ExportedElement<R: Record>: Encodable {
  let record: R
  let nullable: [(key: String, isNil: @Sendable (R) -> Bool)]

  func encode(to encoder: any Encoder) throws {
    try record.encode(to: ElementWriter(base: encoder, keyStrategy: KeyStrategy.of(R.self)))
    for (key, isNil) in nullable where isNil(record) {
      var container = encoder.container(keyedBy: ElementKey.self)
      try container.encodeNil(forKey: ElementKey(stringValue: key))
    }
  }
}
