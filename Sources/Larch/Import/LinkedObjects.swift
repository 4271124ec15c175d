/// Saves the linked objects of one line as records.
final class LinkedObjects<Target: Record> {
  private let plan: MapPlan<Target>
  private let saver: ElementSaver<Target>
  /// The key of the property by which objects are matched.
  private let unique: String
  private let quoted: [UInt8]

  init(
    _ matcher: RecordMatcher<Target>, _ map: ImportMap<Target>?, _ key: String,
    _ session: MapSession, _ tx: ReadTransaction
  ) throws {
    try matcher.check(tx)
    guard let path = matcher.path(), path.count == 1 else {
      throw MapPlan<Target>.error(
        "A line of an import map matches linked objects by a property that is computed or inside another value; name a stored property of the record itself.",
        key)
    }
    unique = path[0]
    var quoted: [UInt8] = []
    JSONValue.write(path[0], to: &quoted)
    self.quoted = quoted
    plan = try session.plan(map, tx)
    saver = ElementSaver(decoder: plan.decoder, matcher: matcher, existing: .merge)
  }

  /// Saves one object, or finds the record of a plain value; nil if a hook left it out.
  ///
  /// - Throws: a `KeyedError`.
  func save(
    _ value: Range<Int>, _ key: String, _ values: LinkedValues<Target>,
    _ source: UnsafeRawBufferPointer, _ tx: WriteTransaction, _ tally: inout MapTally
  ) throws -> Target.ID? {
    var own = MapTally()
    plan.session.keys.append(key)
    defer {
      plan.session.keys.removeLast()
      tally.add(own, under: key)
    }
    do {
      return try KeyedError.under(key) {
        var cursor = JSONCursor(source, value)
        switch try cursor.kind() {
        case .object:
          let part = UnsafeRawBufferPointer(rebasing: source[value])
          let saved = try plan.save(part, saver, values, in: tx, &own)
          if case .saved(_, let change) = saved { count(change, &own) }
          return saved.id
        case .text, .number, .bool: return try saveValue(value, values, source, tx, &own)
        case .null, .list: throw mismatch("null or a list stands for a record")
        }
      }
    } catch let skip as ImportSkip {
      tally.omissions.append((key, skip.reason))
      return nil
    }
  }

  private func count(_ change: SavedChange, _ tally: inout MapTally) {
    tally.related[Target.collectionName, default: ImportRelated()].count(change)
  }

  /// The value of the unique field alone.
  private func saveValue(
    _ value: Range<Int>, _ values: LinkedValues<Target>, _ source: UnsafeRawBufferPointer,
    _ tx: WriteTransaction, _ tally: inout MapTally
  ) throws -> Target.ID {
    let element = try element(of: value, source, &tally)
    func save() throws -> (record: Target, change: SavedChange) {
      try element.withInput { input in
        var input = input
        input.given.merge(values.given) { _, linked in linked }
        input.emptyLists = values.emptyLists
        return try plan.keyed {
          try saver.save(input, in: tx) { record, _ in try values.adjust?(&record) }
        }
      }
    }
    let open = try element.withInput { try plan.session.open(saver, $0, tx) }
    if let open {
      if !values.isEmpty { open.later.append { _ in _ = try save() } }
      return try open.id(tx)
    }
    if values.isEmpty {
      let known = try element.withInput {
        try (saver.matcher ?? .byID).findElement(saver.decoder, $0, tx)
      }
      if let known {
        count(.unchanged, &tally)
        return known
      }
    }
    let (record, change) = try save()
    count(change, &tally)
    return record.id
  }

  /// The element that a plain value stands for.
  private func element(
    of value: Range<Int>, _ source: UnsafeRawBufferPointer, _ tally: inout MapTally
  ) throws -> MappedElement {
    var element = MappedElement(bytes: [UInt8(ascii: "{")])
    if let field = plan.fields.first(where: { $0.name == unique }) {
      try plan.convert(field, unique, source, value, &element, &tally)
    } else {
      element.bytes += quoted
      element.bytes.append(UInt8(ascii: ":"))
      element.bytes += UnsafeRawBufferPointer(rebasing: source[value])
    }
    element.bytes.append(UInt8(ascii: "}"))
    return element
  }

  func mismatch(_ detail: String) -> LarchError {
    LarchError(
      .elementMismatch,
      "An element has another kind of value than its map links; give an object, the value of its unique field, or a list of them."
    ) {
      $0.collection = Target.collectionName
      $0.detail = detail
    }
  }
}

/// Makes the join records between two types.
struct JoinMaker<Owner: Record, Target: Record> {
  /// Makes one, unless one exists.
  let join: (Owner.ID, Target.ID, WriteTransaction) throws -> Void

  init<Join: Record>(
    _ near: ReferenceDeclaration, _ far: ReferenceDeclaration, _ names: (near: String, far: String),
    _ type: Join.Type, _ options: ImportOptions
  ) throws {
    guard let nearReference = near as? TypedReference<Join>,
      let farReference = far as? TypedReference<Join>
    else {
      throw LarchError.unknownAssociation(AssociatedType(Owner.self), AssociatedType(Target.self))
    }
    guard !near.isList, !far.isList else {
      throw MapPlan<Owner>.error(
        "A line of an import map links through a join record that has a list of ids; link the records in `DidImport`.",
        near.fieldText)
    }
    let decoder = ElementDecoder<Join>(options)
    let saver = ElementSaver(decoder: decoder, matcher: nil, existing: .replace)
    join = { owner, target, tx in
      var query = Join.all
      query.details.filter = FilterNode.field(
        FieldFilter(nearReference.field, .equal(Owner.ID.values(of: owner)))
      ).and(.field(FieldFilter(farReference.field, .equal(Target.ID.values(of: target)))))
      if try tx.exists(query) { return }
      try Array("{}".utf8).withUnsafeBytes { bytes in
        var input = ElementInput(bytes)
        input.given = [names.near: owner, names.far: target]
        _ = try saver.save(input, in: tx)
      }
    }
  }
}
