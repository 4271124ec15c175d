/// Stands where the layers below name a record type, for records whose type the program does not
/// know. No record is ever decoded as it.
struct RecordStandIn: Record {
  var id: Int64
}

/// The keys of an index that only the Swift type of the records can tell were asked for, by the
/// place of the index.
struct IndexNeedsType: Error {
  let position: Int
}

extension IndexSchema {
  /// An index as the catalog tells of it: its keys are made from stored bytes alone.
  ///
  /// - Parameters:
  ///   - form: what is known of the records, if anything is.
  ///   - isAmbiguous: a path that must not be taken for names of fields in each other, since a name
  ///     has a dot in it.
  convenience init(
    untyped stored: StoredIndex, form: FieldForm?, isAmbiguous: ([String]) -> Bool
  ) {
    let fields = IndexSchema.fields(ofDefinition: stored.definition, form)
    let parts = stored.definition.split(separator: ";", omittingEmptySubsequences: false)
    let isReadable =
      fields?.allSatisfy { field in field.storedPath.map { !isAmbiguous($0) } ?? false } ?? false
    self.init(
      name: stored.name, isUnique: stored.isUnique, fields: isReadable ? fields ?? [] : [],
      isDecoded: !isReadable, isPartial: parts.count > 1 && parts[1] == "where",
      definition: stored.definition)
  }

  /// The fields in a definition of kind `stored`; nil for one of another kind, and for text that is
  /// none.
  private static func fields(
    ofDefinition definition: String, _ record: FieldForm?
  ) -> [IndexFieldSchema]? {
    let parts = definition.split(separator: ";", omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[1] == "stored", let form = KeyForm(String(parts[0])) else {
      return nil
    }
    // A field of the kind has one part of the form; what is behind them are marks.
    let paths = parts[2...]
    // With marks, a record that lacks a field may have a default or an older name for it.
    let hasMarks = paths.count > form.parts.count
    guard paths.count >= form.parts.count,
      paths.dropFirst(form.parts.count).allSatisfy({
        $0.hasPrefix("default:") || $0.hasPrefix("renamed:")
      })
    else { return nil }
    return zip(paths, form.parts).map { text, form in
      var path = text
      let isMultiple = path.hasPrefix("[]")
      if isMultiple { path = path.dropFirst(2) }
      let isFolded = path.hasPrefix("~")
      if isFolded { path = path.dropFirst() }
      let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      let isStored = path != "()" && !path.hasPrefix("=") && !path.isEmpty
      return IndexFieldSchema(
        storedPath: isStored ? names : nil,
        optionalNames: hasMarks ? [] : record?.optionalNames(on: names) ?? [],
        identity: FieldIdentity(
          \RecordStandIn.id, .stored(codingNames: names, propertyNames: names)),
        form: form, isMultiple: isMultiple, isFolded: isFolded)
    }
  }
}

extension FieldForm {
  /// For each name of a path whether a record without such a field has nil there.
  fileprivate func optionalNames(on path: [String]) -> [Bool] {
    var form = self
    return path.map { name in
      guard case .record(let record) = form, let field = record.field(name) else {
        form = .unknown
        return false
      }
      form = field.form
      return field.isOptional
    }
  }
}

extension CollectionSchema {
  /// A collection as the catalog tells of it.
  convenience init(untyped stored: StoredCollection, indexes: [IndexSchema]) {
    self.init(
      name: stored.name, typeName: stored.typeName, type: RecordStandIn.self,
      idKind: stored.idKind, indexes: indexes, declareDefaults: nil, typed: UntypedDeclarations(),
      rulesRunCode: false,
      decodedKeys: { _, _, _, isWanted, _ in
        for position in indexes.indices where isWanted(position) {
          throw IndexNeedsType(position: position)
        }
      },
      referencedIDs: { record, coder, reference, writer, emit in
        // Only references that this file makes are asked for.
        guard let reference = reference as? UntypedReference else { return }
        try reference.forEachID(in: record, coder.shapes, &writer, emit)
      })
  }

  private final class UntypedDeclarations: Sendable {}
}

/// A reference that the catalog tells of.
final class UntypedReference: ReferenceDeclaration, @unchecked Sendable {
  private let path: [String]
  private let targetKind: RecordIDKind

  init(_ stored: StoredAssociation, form: KeyForm, targetKind: RecordIDKind) {
    path = stored.path
    self.targetKind = targetKind
    super.init(
      holder: AssociatedType(
        collection: stored.first, typeName: stored.first, standIn: RecordStandIn.self),
      target: AssociatedType(
        collection: stored.second, typeName: stored.second, standIn: RecordStandIn.self),
      keyPath: \RecordStandIn.id, isOptional: stored.traits.contains(.optional),
      isList: stored.traits.contains(.list), isWritable: false, form: form, isStandard: true,
      resolution: { [path = stored.path] in
        .stored(codingNames: path, propertyNames: path)
      })
  }

  /// The bytes of each id that a record refers to.
  func forEachID(
    in record: UnsafeRawBufferPointer, _ shapes: ShapeTable, _ writer: inout KeyWriter,
    _ emit: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let field = try FieldPath(path).read(in: record, shapes: shapes)
    guard case .value(let kind, let bytes) = field else { return }
    guard kind == .list else { return try id(kind, bytes, &writer, emit) }
    var elements = try RawList(kind, bytes)
    while let element = try elements.next() {
      guard case .value(let kind, let bytes) = element else { continue }
      try id(kind, bytes, &writer, emit)
    }
  }

  private func id(
    _ kind: FieldKind, _ bytes: UnsafeRawBufferPointer, _ writer: inout KeyWriter,
    _ emit: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    writer.clear()
    switch (targetKind, try FieldValue(.value(kind, bytes), shapes: ShapeTable())) {
    case (.assigned, .int(let number)), (.integer, .int(let number)):
      writer.append(int64: number)
    case (.unsigned, .int(let number)): writer.append(uint64: UInt64(truncatingIfNeeded: number))
    case (.unsigned, .bigInt(let number)):
      writer.append(uint64: UInt64(truncatingIfNeeded: number))
    case (.uuid, .uuid(let uuid)): withUnsafeBytes(of: uuid.uuid) { writer.append(uuid: $0) }
    case (.string, .string(let text)):
      guard writer.append(idString: text) else { return }
    default: return
    }
    try emit(writer.bytes)
  }
}
