/// Makes the part of each row that one association gives.
class RelatedPartRun {
  let name: String
  private let partners: JoinPartners
  private let further: [RelatedPartRun]

  fileprivate init(_ name: String, _ partners: JoinPartners, _ further: [RelatedPartRun]) {
    self.name = name
    self.partners = partners
    self.further = further
  }

  /// Makes the part of the row of a record.
  ///
  /// - Parameter digest: what the related records are added to, for an observer.
  func make(
    for record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer,
    at target: UnsafeMutableRawPointer, noting digest: RowDigest?
  ) throws {}

  /// Destroys a part of a row that is not made to its end.
  func destroy(at target: UnsafeMutableRawPointer) {}

  /// Memory for a part.
  func allocate() -> UnsafeMutableRawPointer { .allocate(byteCount: 0, alignment: 1) }

  final func close() {
    partners.close()
    for part in further { part.close() }
  }

  /// The cost of finding the related records so far.
  final var counters: ExecutionCounters { partners.counters }

  /// It and those of the related records, at any depth.
  final var withFurther: [RelatedPartRun] { [self] + further.flatMap(\.withFurther) }
}

/// The related rows of one record after the other.
class RelatedElements<Target: Record, Element>: RelatedPartRun {
  fileprivate final let partners: JoinPartners
  private let maker: RelatedRowMaker<Target, Element>
  private let offset: Int
  private let limit: Int
  /// The places of those that are returned.
  @exclusivity(unchecked) fileprivate final var start = 0
  @exclusivity(unchecked) fileprivate final var end = 0

  init(
    _ partners: JoinPartners, _ maker: RelatedRowMaker<Target, Element>, _ query: QueryDescription
  ) {
    self.partners = partners
    self.maker = maker
    offset = query.offset
    limit = query.limit ?? .max
    super.init(Target.collectionName, partners, maker.parts)
  }

  fileprivate final func find(
    _ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
  ) throws {
    try partners.find(record, id: id)
    start = min(offset, partners.count)
    end = start + min(limit, partners.count - start)
  }

  /// Makes the related row at a place.
  ///
  /// - Returns: for an observer, a hash of the records that come with this one.
  @inline(__always)
  fileprivate final func makeElement(
    _ place: Int, at target: UnsafeMutablePointer<Element>, isNoting: Bool
  ) throws -> Int {
    let (record, id) = (partners.record(at: place), partners.id(at: place))
    guard isNoting, !maker.parts.isEmpty else {
      try maker.make(record, id, at: target, noting: nil)
      return 0
    }
    let digest = RowDigest()
    try maker.make(record, id, at: target, noting: digest)
    return digest.value
  }

  @inline(never)
  fileprivate final func note(_ place: Int, _ content: Int, in digest: RowDigest) {
    digest.add(id: partners.id(at: place), partners.record(at: place))
    if !maker.parts.isEmpty { digest.add(content: content) }
  }
}

/// Makes arrays of all related rows.
final class ManyRelatedRows<Target: Record, Element>: RelatedElements<Target, Element> {
  /// Related rows that several records share are made once.
  @exclusivity(unchecked) private var known = KnownElements<Element>()
  private let buffer = RecordBuffer<Element>()

  override func make(
    for record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer,
    at target: UnsafeMutableRawPointer, noting digest: RowDigest?
  ) throws {
    try find(record, id)
    digest?.add(count: end - start)
    var place = start
    while place < end {
      let number = partners.number(at: place)
      let content: Int
      if number >= 0 {
        content = try known.copy(number, to: buffer.next()) {
          try makeElement(place, at: $0, isNoting: digest != nil)
        }
      } else {
        content = try makeElement(place, at: buffer.next(), isNoting: digest != nil)
      }
      buffer.filled()
      if let digest { note(place, content, in: digest) }
      place &+= 1
    }
    target.assumingMemoryBound(to: [Element].self).initialize(
      to: start < end ? buffer.takeArray() : [])
  }

  override func destroy(at target: UnsafeMutableRawPointer) {
    target.assumingMemoryBound(to: [Element].self).deinitialize(count: 1)
  }

  override func allocate() -> UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(UnsafeMutablePointer<[Element]>.allocate(capacity: 1))
  }
}

/// Makes optionals of the only related row.
final class OneRelatedRow<Target: Record, Element>: RelatedElements<Target, Element> {
  /// Related rows that several records share are made once.
  @exclusivity(unchecked) private var shared: [(part: RowPart<Element>, content: Int)?] = []
  private let ownPart = RowPart<Element>.optional()
  private let missingPart = RowPart<Element>.optional()
  private let memory = UnsafeMutablePointer<Element>.allocate(capacity: 1)

  override init(
    _ partners: JoinPartners, _ maker: RelatedRowMaker<Target, Element>, _ query: QueryDescription
  ) {
    missingPart.setMissing()
    super.init(partners, maker, query)
  }

  deinit { memory.deallocate() }

  override func make(
    for record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer,
    at target: UnsafeMutableRawPointer, noting digest: RowDigest?
  ) throws {
    try find(record, id)
    end = min(end, start + 1)
    digest?.add(count: end - start)
    guard start < end else { return missingPart.copy(to: target) }
    let number = partners.number(at: start)
    if number >= 0, number < shared.count, let known = shared[number] {
      if let digest { note(start, known.content, in: digest) }
      return known.part.copy(to: target)
    }
    let content = try makeElement(start, at: memory, isNoting: digest != nil)
    let part = number < 0 ? ownPart : RowPart<Element>.optional()
    part.set(memory.move())
    if let digest { note(start, content, in: digest) }
    part.copy(to: target)
    guard number >= 0 else { return }
    while shared.count <= number { shared.append(nil) }
    shared[number] = (part, content)
  }

  override func destroy(at target: UnsafeMutableRawPointer) {
    target.assumingMemoryBound(to: Element?.self).deinitialize(count: 1)
  }

  override func allocate() -> UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(UnsafeMutablePointer<Element?>.allocate(capacity: 1))
  }
}

/// Related rows that were made before, by the numbers of their partners.
private struct KnownElements<Element>: ~Copyable {
  private let elements = RecordBuffer<Element>()
  /// The place of each number; -1 where its row is not made yet.
  private var places: [Int] = []
  /// The hash of what comes with each.
  private var contents: [Int] = []

  /// Makes a copy of the row with a number, which is made now if it was not before.
  mutating func copy(
    _ number: Int, to target: UnsafeMutablePointer<Element>,
    _ make: (UnsafeMutablePointer<Element>) throws -> Int
  ) rethrows -> Int {
    while places.count <= number { places.append(-1) }
    if places[number] < 0 {
      contents.append(try make(elements.next()))
      places[number] = elements.count
      elements.filled()
    }
    elements.copy(places[number], to: target)
    return contents[places[number]]
  }
}
