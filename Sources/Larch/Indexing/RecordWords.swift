/// Reads the words of records for the searches of their collections.
///
/// Stored texts are cut in place. Only if the bytes are not enough, for a record of an older shape without a
/// field, is the record decoded.
final class RecordWords {
  private let coder: RecordCoder
  /// With the handle, so that no later one has its address.
  private var paths: [ObjectIdentifier: (CollectionHandle, [[FieldPath]])] = [:]
  private var cutter = WordCutter(.standard)
  private var keepingCutter = WordCutter(.keepingDiacritics)
  /// The number of records of which texts were cut.
  private(set) var cuts = 0
  /// The texts of a field with several, in the order of their bytes.
  private var texts: [UnsafeRawBufferPointer] = []

  init(_ coder: RecordCoder) { self.coder = coder }

  /// Whether two records have the same bytes in all fields of a search, so that nothing is to be cut.
  func areEqual(
    _ before: UnsafeRawBufferPointer, _ after: UnsafeRawBufferPointer, _ number: Int,
    in collection: CollectionHandle
  ) throws -> Bool {
    for path in paths(of: collection)[number] {
      switch (
        try path.read(in: before, shapes: coder.shapes),
        try path.read(in: after, shapes: coder.shapes)
      ) {
      case (.absent, .absent): continue
      case (.value(let kind, let old), .value(let otherKind, let new)):
        guard kind == otherKind, old.equals(new) else { return false }
      default: return false
      }
    }
    return true
  }

  /// Makes the words of a record in the search with this number.
  ///
  /// - Throws: `.decodingFailed` if the bytes are not enough, and the type cannot decode the record.
  func collect(
    of record: UnsafeRawBufferPointer, _ number: Int, in collection: CollectionHandle,
    into list: inout WordList
  ) throws {
    let index = collection.searches[number]
    // A handle of a search always has one.
    guard let search = index.schema.search else { return }
    list.removeAll()
    cuts &+= 1
    var isDecided = !index.schema.isDecoded
    if isDecided {
      for (field, path) in paths(of: collection)[number].enumerated() {
        list.begin(field: field)
        guard
          try add(
            try path.read(in: record, shapes: coder.shapes), search.rules, into: &list, depth: 0)
        else {
          isDecided = false
          break
        }
      }
    }
    if !isDecided {
      try collectDecoded(record, number, in: collection, search, into: &list)
    }
    list.finish(search)
  }

  /// False if the bytes are not those of texts: then the decoded record tells.
  private func add(
    _ value: RawField, _ rules: WordRules, into list: inout WordList, depth: Int
  ) throws -> Bool {
    texts.removeAll(keepingCapacity: true)
    guard try gather(value, depth: 0) else { return false }
    return addTexts(rules, to: &list)
  }

  private func gather(_ value: RawField, depth: Int) throws -> Bool {
    switch value {
    case .missing: return false
    case .absent: return true
    case .value(.string, let bytes):
      texts.append(bytes)
      return true
    case .value(.list, let bytes):
      guard depth < 16 else { return false }
      var elements = try RawList(.list, bytes)
      while let element = try elements.next() {
        guard try gather(element, depth: depth + 1) else { return false }
      }
      return true
    case .value: return false
    }
  }

  /// A set has no order of its own, so the texts of a field are put in the order of their bytes.
  private func addTexts(_ rules: WordRules, to list: inout WordList) -> Bool {
    if texts.count > 1 { texts.sort { $0.precedes($1) } }
    for text in texts {
      let isValid =
        rules.keepsMarks ? list.add(text, &keepingCutter) : list.add(text, &cutter)
      if !isValid { return false }
    }
    return true
  }

  @inline(never)
  private func collectDecoded(
    _ record: UnsafeRawBufferPointer, _ number: Int, in collection: CollectionHandle,
    _ search: SearchSchema, into list: inout WordList
  ) throws {
    var found = [[String]](repeating: [], count: search.fields.count)
    // Declarations are numbered by schema, and handles may lack one in a read-only file.
    let place = collection.searches[number].position - collection.schema.indexes.count
    try collection.schema.decodedTexts(record, coder, place) { found[$0].append($1) }
    list.removeAll()
    for (field, texts) in found.enumerated() {
      list.begin(field: field)
      let sorted = texts.count < 2 ? texts : texts.sorted { $0.utf8Precedes($1) }
      for var text in sorted {
        text.withUTF8 { utf8 in
          let bytes = UnsafeRawBufferPointer(utf8)
          _ = search.rules.keepsMarks ? list.add(bytes, &keepingCutter) : list.add(bytes, &cutter)
        }
      }
    }
  }

  private func paths(of collection: CollectionHandle) -> [[FieldPath]] {
    let owner = ObjectIdentifier(collection)
    if let known = paths[owner] { return known.1 }
    let made = collection.searches.map { index in
      (index.schema.search?.fields ?? []).map { field in
        collection.reading?.path(field.path)
          ?? FieldPath(
            field.path, isMissingWhenAbsent: field.mayHaveDefault, optional: field.optionalNames)
      }
    }
    paths[owner] = (collection, made)
    return made
  }
}

extension String {
  fileprivate func utf8Precedes(_ other: String) -> Bool {
    utf8.lexicographicallyPrecedes(other.utf8)
  }
}
