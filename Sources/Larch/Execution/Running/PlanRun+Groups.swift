extension PlanRun {
  /// Calls with the values of a selected field and the number of rows that have them, group by
  /// group: ascending, and each once. It is for plans that count groups. The run cannot be used
  /// after that.
  ///
  /// As in keys, text is in normal form, zero is 0.0 and there is one NaN. `id` is that of a record
  /// with the values.
  func forEachCountedGroup(
    of place: Int,
    _ body: (_ values: [KeyValue], _ count: Int, _ id: UnsafeRawBufferPointer) throws -> Void
  ) throws {
    if case .nothing = plan.source { return }
    defer { close() }
    do {
      guard case .index(let scan) = plan.source, let groups = plan.groups else {
        throw TransactionContext.ended
      }
      let scanner = try IndexScanner(scan, in: collection, context: context)
      defer { add(entriesExamined: scanner.entriesExamined) }
      let counter = try GroupCounter(scanner, scan, groups, selection[place], self)
      while try counter.next() { try body(counter.values, counter.count, counter.id) }
    } catch {
      throw noted(error)
    }
  }

  /// Calls with the values of a selected field and the number of rows that have them, without
  /// reading each row: once per key of the index, so equal values may repeat. The run cannot be
  /// used after that.
  ///
  /// As in keys, text is in normal form, zero is 0.0 and there is one NaN. `id` returns the id of a
  /// record with the values.
  ///
  /// - Returns: false, without a call, if the plan must be executed row by row.
  func forEachGroup(
    of place: Int,
    _ body: (_ values: [KeyValue], _ count: Int, _ id: () throws -> UnsafeRawBufferPointer) throws
      -> Void
  ) throws -> Bool {
    guard case .index(let scan) = plan.source, plan.residue.isEmpty, plan.after == nil,
      plan.offset == 0, plan.limit == nil, !scan.mayRepeat, selection.indices.contains(place)
    else { return false }
    let field = selection[place]
    let schema = try collection.index(at: scan.index).schema
    let component = schema.fields.firstIndex {
      $0.identity == field.identity && $0.form == field.form && !$0.isFolded && !$0.isMultiple
    }
    guard let component, field.isStandard, let (primitive, _) = field.form.simple else {
      return false
    }
    defer { close() }
    do {
      let scanner = try IndexScanner(scan, in: collection, context: context)
      defer { add(entriesExamined: scanner.entriesExamined) }
      let filter = try FilterProgram.of(scan.keyFilter, context: context, typed: typed)
      while try scanner.nextKey() {
        scanner.components.open(scanner.key)
        let found = try scanner.components.component(component)
        switch found {
        case .null where !scanner.isUndecided:
          try body([.null], try scanner.idCount()) { try scanner.firstIDOfKey() }
        case .value(let bytes) where !scanner.isUndecided:
          try body([KeyValue(primitive, key: bytes)], try scanner.idCount()) {
            try scanner.firstIDOfKey()
          }
        default:
          while try scanner.nextID() {
            let record = try reader.read(scanner.id)
            if let filter, scanner.isUndecided,
              try !reader.matches(filter, record, scanner.id)
            {
              continue
            }
            for values in try typed.values(of: field, in: record) {
              try body(values.map(\.ofKey), 1) { scanner.id }
            }
          }
        }
      }
      return true
    } catch {
      throw noted(error)
    }
  }
}

extension KeyValue {
  /// The value in the form of keys, which is the same for all equal values.
  var ofKey: KeyValue {
    switch self {
    case .float(let value): .float(value == 0 ? 0 : value.isNaN ? .nan : value)
    case .double(let value): .double(value == 0 ? 0 : value.isNaN ? .nan : value)
    case .date(let value): .date(value == 0 ? 0 : value.isNaN ? .nan : value)
    case .string(let text): .string(String(decoding: NFC.normalized(text), as: UTF8.self))
    case .null, .bool, .signed, .unsigned, .data, .uuid, .url, .decimal: self
    }
  }

  /// The value in a key.
  init(_ primitive: KeyForm.Primitive, key bytes: UnsafeRawBufferPointer) {
    switch primitive {
    case .double, .date, .float:
      let value = ComparableNumber.floatingPoint(ComparableNumber.of(primitive, key: bytes))
      self =
        primitive == .double
        ? .double(value) : primitive == .date ? .date(value) : .float(Float(value))
    case .string: self = .string(String(decoding: bytes, as: UTF8.self))
    case .url: self = .url(String(decoding: bytes, as: UTF8.self))
    case .data: self = .data([UInt8](bytes))
    case .uuid: self = .uuid([UInt8](bytes))
    case .decimal: self = .decimal(DecimalKey(unverified: bytes))
    case .bool: self = .bool(bytes[0] != 0)
    case .int8, .int16, .int32, .int64:
      self = .signed(Int64(bitPattern: ComparableNumber.of(primitive, key: bytes) ^ 1 << 63))
    case .uint8, .uint16, .uint32, .uint64:
      self = .unsigned(ComparableNumber.of(primitive, key: bytes))
    }
  }

  /// The value in a key; nil if the key does not determine every bit.
  init?(exactly primitive: KeyForm.Primitive, key bytes: UnsafeRawBufferPointer) {
    switch primitive {
    case .double, .date, .float:
      let number = ComparableNumber.of(primitive, key: bytes)
      if number == ComparableNumber.nan || number == ComparableNumber.of(0.0) { return nil }
    case .string, .url: if !bytes.isASCII { return nil }
    default: break
    }
    self.init(primitive, key: bytes)
  }
}
