/// An open element, whatever its type.
class AnyOpenElement {
  /// What objects inside the element add to its record, once it is saved.
  var later: [(inout MapTally) throws -> Void] = []
  /// How many keys lead to the element.
  fileprivate let keyCount: Int

  init(keyCount: Int) { self.keyCount = keyCount }
}

/// An element whose record waits for linked objects. They may contain the same element.
final class OpenElement<R: Record>: AnyOpenElement {
  let saver: ElementSaver<R>
  let input: ElementInput
  /// The id that was promised to a linked object.
  private(set) var promised: R.ID?

  init(_ saver: ElementSaver<R>, _ input: ElementInput, keyCount: Int) {
    self.saver = saver
    self.input = input
    super.init(keyCount: keyCount)
  }

  /// The id that the record has, or will have.
  func id(_ tx: WriteTransaction) throws -> R.ID {
    if let promised { return promised }
    let id = try newID(tx)
    promised = id
    return id
  }

  private func newID(_ tx: WriteTransaction) throws -> R.ID {
    let filling = saver.decoder.filling
    if let known = try (saver.matcher ?? .byID).findElement(saver.decoder, input, tx) {
      return known
    }
    let own = try saver.decoder.value(R.ID.self, at: [filling.idKey], of: input)
    if let own, !own._isUnassigned { return own }
    if var id = filling.newID?() as? R.ID {
      if !id._isUnassigned { return id }
      let number = try tx.writer.nextID(in: try tx.context.collection(of: R.self))
      if R.ID.keyCoding.assign(number, to: &id) { return id }
    }
    throw LarchError(
      .idUnassigned, "The id has no value and its type cannot be assigned one; give it one."
    ) { $0.collection = R.collectionName }
  }
}

/// Values that the owner of a linked object gives to its record.
struct LinkedValues<R: Record> {
  var given: [String: Any] = [:]
  var emptyLists: Set<String> = []
  var adjust: ((inout R) throws -> Void)?

  var isEmpty: Bool { given.isEmpty && emptyLists.isEmpty && adjust == nil }
}

extension MapPlan {
  /// What became of an element.
  enum Saved {
    case saved(R, SavedChange)
    /// It is a part of itself: its record is saved when its links are.
    case open(R.ID)

    var id: R.ID {
      switch self {
      case .saved(let record, _): record.id
      case .open(let id): id
      }
    }
  }

  /// Saves an element with all of its linked objects.
  ///
  /// - Throws: an `ImportSkip` of a hook; a `KeyedError` where a key is known.
  func save(
    _ source: UnsafeRawBufferPointer, _ saver: ElementSaver<R>,
    _ values: LinkedValues<R> = LinkedValues(), in tx: WriteTransaction, _ tally: inout MapTally
  ) throws -> Saved {
    guard session.depth <= MapSession.depthLimit else {
      throw LarchError(
        .elementMismatch,
        "Linked objects are nested more than 32 deep; import the objects one by one, with references by id."
      ) { $0.collection = R.collectionName }
    }
    session.depth += 1
    defer { session.depth -= 1 }
    guard let (bytes, element) = try readByHooks(source) else {
      return try save(source, nil, saver, values, in: tx, &tally)
    }
    return try bytes.withUnsafeBytes { try save($0, element, saver, values, in: tx, &tally) }
  }

  /// Runs the hooks before an element is read; nil if there are none.
  func readByHooks(
    _ source: UnsafeRawBufferPointer
  ) throws -> (bytes: [UInt8], element: JSONValue)? {
    if lines.willImport.isEmpty && lines.didImport.isEmpty { return nil }
    var element: JSONValue
    do { element = try JSONValue(source) } catch is JSONCursor.Malformed {
      throw decoder.malformed(source)
    }
    if lines.willImport.isEmpty { return ([UInt8](source), element) }
    for hook in lines.willImport { try hook(&element) }
    var bytes: [UInt8] = []
    element.write(to: &bytes)
    return (bytes, element)
  }

  private func save(
    _ source: UnsafeRawBufferPointer, _ element: JSONValue?, _ saver: ElementSaver<R>,
    _ values: LinkedValues<R>, in tx: WriteTransaction, _ tally: inout MapTally
  ) throws -> Saved {
    // Hooks may save other records before they throw.
    let isUndone = !lines.didImport.isEmpty || session.undoesElements && session.depth == 1
    guard isUndone else {
      return try place(source, element, saver, values, in: tx, &tally)
    }
    return try session.undoingLater {
      try tx.undoablePart { try place(source, element, saver, values, in: tx, &tally) }
    }
  }

  private func place(
    _ source: UnsafeRawBufferPointer, _ element: JSONValue?, _ saver: ElementSaver<R>,
    _ values: LinkedValues<R>, in tx: WriteTransaction, _ tally: inout MapTally
  ) throws -> Saved {
    // What is added later is counted then.
    let before = session.open.isEmpty ? MapTally() : tally
    let mapped = try mapped(source, &tally)
    return try mapped.withInput { input in
      var input = input
      input.given.merge(values.given) { _, linked in linked }
      input.emptyLists = values.emptyLists
      if let id = try openID(of: input, source, element, saver, values, tx) {
        tally = before
        return .open(id)
      }
      var states: [Any?] = []
      let (record, change, wasChanged) = try saveRecord(
        mapped, &input, &states, source, saver, values, tx, &tally)
      for (place, entry) in links.enumerated() {
        try entry.link.linkAfter(
          record, states[place], mapped.links[place], source, tx, &tally)
      }
      guard let element, !lines.didImport.isEmpty else { return .saved(record, change) }
      let saved = wasChanged || !links.isEmpty ? try tx.find(R.self, record.id) : record
      for hook in lines.didImport { try hook(saved ?? record, element, tx) }
      return .saved(record, change)
    }
  }

  /// Saves the record itself, after what it refers to.
  private func saveRecord(
    _ mapped: MappedElement, _ input: inout ElementInput, _ states: inout [Any?],
    _ source: UnsafeRawBufferPointer, _ saver: ElementSaver<R>, _ values: LinkedValues<R>,
    _ tx: WriteTransaction, _ tally: inout MapTally
  ) throws -> (R, SavedChange, wasChanged: Bool) {
    guard !links.isEmpty else {
      let (record, change) = try keyed {
        try saver.save(input, in: tx) { record, _ in try values.adjust?(&record) }
      }
      note(decoder.unknownKeys, &tally)
      return (record, change, false)
    }
    let open = OpenElement(saver, input, keyCount: session.keys.count)
    session.open.append(open)
    var isOpen = true
    defer { if isOpen { session.open.removeLast() } }
    for (place, entry) in links.enumerated() {
      states.append(
        try entry.link.linkBefore(mapped.links[place], source, &input, tx, &tally))
    }
    let (record, change) = try keyed {
      try saver.save(input, in: tx) { record, stored in
        if let promised = open.promised { record.id = promised }
        for (place, entry) in links.enumerated() {
          try entry.link.adjust(&record, states[place], stored: stored, saver.existing, tx)
        }
        try values.adjust?(&record)
      }
    }
    note(decoder.unknownKeys, &tally)
    isOpen = false
    session.open.removeLast()
    for merge in open.later { try merge(&tally) }
    return (record, change, !open.later.isEmpty)
  }

  /// The id of the element around this one that is the same; what this one has is added to it later.
  private func openID(
    of input: ElementInput, _ source: UnsafeRawBufferPointer, _ element: JSONValue?,
    _ saver: ElementSaver<R>, _ values: LinkedValues<R>, _ tx: WriteTransaction
  ) throws -> R.ID? {
    guard let open = try session.open(saver, input, tx) else { return nil }
    let id = try open.id(tx)
    let bytes = [UInt8](source)
    let key = session.keys[open.keyCount...].joined(separator: ".")
    open.later.append { [self] tally in
      var own = MapTally()
      defer { tally.add(own, under: key) }
      let saved = try KeyedError.under(key) {
        try bytes.withUnsafeBytes { try place($0, element, saver, values, in: tx, &own) }
      }
      guard case .saved(_, let change) = saved else { return }
      own.related[R.collectionName, default: ImportRelated()].count(change)
    }
    return id
  }

  /// Notes the keys that the decoder found to be unknown, by their names in the source.
  func note(_ unknownKeys: [String], _ tally: inout MapTally) {
    for name in unknownKeys { tally.noteUnknown(key(ofField: name) ?? name) }
  }
}

extension MapSession {
  /// Runs `body`; if it throws, nothing that it added to open elements is done.
  func undoingLater<T>(_ body: () throws -> T) throws -> T {
    let counts = open.map(\.later.count)
    do { return try body() } catch {
      for (element, count) in zip(open, counts) { element.later.removeSubrange(count...) }
      throw error
    }
  }

  /// The open element that this one is.
  func open<R: Record>(
    _ saver: ElementSaver<R>, _ input: ElementInput, _ tx: WriteTransaction
  ) throws -> OpenElement<R>? {
    if open.isEmpty { return nil }
    let matcher = saver.matcher ?? .byID
    var own: [UInt8]??
    for candidate in open.reversed() {
      guard let candidate = candidate as? OpenElement<R> else { continue }
      if own == nil { own = try matcher.key(saver.decoder, input, tx) }
      guard case .some(.some(let key)) = own else { return nil }
      if try matcher.key(candidate.saver.decoder, candidate.input, tx) == key { return candidate }
    }
    return nil
  }
}
