/// Ids of records in the order of their bytes, each once, once it is `finish`ed.
///
/// Ids of eight and of sixteen bytes are kept as numbers, all others in one buffer.
struct IDList: ~Copyable {
  private enum Form { case word, twoWords, bytes }

  private let form: Form
  private var words: [UInt64] = []
  private var pairs: [UInt128] = []
  private var slots: [Slot] = []
  private var buffer = ByteBuffer(capacity: 0)
  private var isSorted = true
  /// The bytes of the last requested number.
  private let scratch: UnsafeMutableRawPointer

  private struct Slot {
    var offset: Int
    var count: Int
  }

  init(width: Int?) {
    form = width == 8 ? .word : width == 16 ? .twoWords : .bytes
    scratch = .allocate(byteCount: 16, alignment: 16)
  }

  deinit { scratch.deallocate() }

  var count: Int {
    switch form {
    case .word: words.count
    case .twoWords: pairs.count
    case .bytes: slots.count
    }
  }

  /// The id at a place, valid until the next one is requested or added.
  @inline(__always)
  subscript(place: Int) -> UnsafeRawBufferPointer {
    switch form {
    case .word:
      scratch.storeBytes(of: words[place].bigEndian, as: UInt64.self)
      return UnsafeRawBufferPointer(start: scratch, count: 8)
    case .twoWords:
      scratch.storeBytes(of: pairs[place].bigEndian, as: UInt128.self)
      return UnsafeRawBufferPointer(start: scratch, count: 16)
    case .bytes: return bytes(slots[place])
    }
  }

  private func bytes(_ slot: Slot) -> UnsafeRawBufferPointer {
    buffer.bytes(at: slot.offset, count: slot.count)
  }

  @inline(__always)
  mutating func append(_ id: UnsafeRawBufferPointer) {
    switch form {
    case .word: if let word = UInt64(idKey: id) { IDList.append(word, to: &words, &isSorted) }
    case .twoWords: if let pair = UInt128(idKey: id) { IDList.append(pair, to: &pairs, &isSorted) }
    case .bytes: appendBytes(id)
    }
  }

  /// Appends ids of the size of the list, one after the other.
  mutating func append(run ids: UnsafeRawBufferPointer) {
    guard let start = ids.baseAddress else { return }
    switch form {
    case .word:
      for offset in stride(from: 0, to: ids.count & ~7, by: 8) {
        let word = (start + offset).loadUnaligned(as: UInt64.self)
        IDList.append(UInt64(bigEndian: word), to: &words, &isSorted)
      }
    case .twoWords:
      for offset in stride(from: 0, to: ids.count & ~15, by: 16) {
        let pair = (start + offset).loadUnaligned(as: UInt128.self)
        IDList.append(UInt128(bigEndian: pair), to: &pairs, &isSorted)
      }
    // Ids of other sizes come one by one.
    case .bytes: appendBytes(ids)
    }
  }

  /// Copies ids one after the other, from a place on or back from it.
  func copy(_ count: Int, from place: Int, descends: Bool, to target: UnsafeMutableRawPointer) {
    let step = descends ? -1 : 1
    switch form {
    case .word:
      for number in 0..<count {
        target.storeBytes(
          of: words[place &+ number &* step].bigEndian, toByteOffset: number &* 8, as: UInt64.self)
      }
    case .twoWords:
      for number in 0..<count {
        target.storeBytes(
          of: pairs[place &+ number &* step].bigEndian, toByteOffset: number &* 16, as: UInt128.self
        )
      }
    case .bytes: break
    }
  }

  @inline(__always)
  private static func append<Number: Comparable>(
    _ number: Number, to numbers: inout [Number], _ isSorted: inout Bool
  ) {
    if isSorted, let last = numbers.last, last >= number { isSorted = false }
    numbers.append(number)
  }

  private mutating func appendBytes(_ id: UnsafeRawBufferPointer) {
    if isSorted, let last = slots.last, compareBytes(bytes(last), id) >= 0 { isSorted = false }
    slots.append(Slot(offset: buffer.count, count: id.count))
    buffer.append(id)
  }

  /// Keeps the set of ids, but not the order in which they were added.
  mutating func finish() {
    if isSorted { return }
    isSorted = true
    switch form {
    case .word:
      RadixSort.sort(&words)
      IDList.removeRepeated(&words) { $0 == $1 }
    case .twoWords:
      RadixSort.sort(&pairs)
      IDList.removeRepeated(&pairs) { $0 == $1 }
    case .bytes:
      let base = buffer.base
      func bytes(_ slot: Slot) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + slot.offset, count: slot.count)
      }
      slots.sort { compareBytes(bytes($0), bytes($1)) < 0 }
      IDList.removeRepeated(&slots) { compareBytes(bytes($0), bytes($1)) == 0 }
    }
  }

  private static func removeRepeated<Element>(
    _ sorted: inout [Element], _ areEqual: (Element, Element) -> Bool
  ) {
    var kept = 1
    for place in 1..<sorted.count where !areEqual(sorted[kept - 1], sorted[place]) {
      sorted[kept] = sorted[place]
      kept += 1
    }
    sorted.removeLast(sorted.count - kept)
  }

  mutating func removeAll() {
    words.removeAll(keepingCapacity: true)
    pairs.removeAll(keepingCapacity: true)
    slots.removeAll(keepingCapacity: true)
    buffer.removeAll()
    isSorted = true
  }

  /// The first place from `start` on whose id is equal to or greater than the given one.
  func place(atOrAfter id: UnsafeRawBufferPointer, from start: Int) -> Int {
    switch form {
    case .word:
      if let word = UInt64(idKey: id) {
        return IDList.place(atOrAfter: word, in: words, from: start)
      }
    case .twoWords:
      if let pair = UInt128(idKey: id) {
        return IDList.place(atOrAfter: pair, in: pairs, from: start)
      }
    case .bytes: break
    }
    return (start..<max(start, count)).placeAfter { compareBytes(self[$0], id) < 0 }
  }

  private static func place<Number: Comparable>(
    atOrAfter number: Number, in numbers: [Number], from start: Int
  ) -> Int {
    var low = start
    var high = numbers.count
    var step = 1
    while low < high, numbers[low] < number {
      let next = low + step
      if next < high, numbers[next] < number {
        low = next
        step *= 2
      } else {
        high = min(high, next)
        low += 1
        break
      }
    }
    return (low..<max(low, high)).placeAfter { numbers[$0] < number }
  }
}

extension UInt128 {
  /// The bytes of a UUID as the key of a record, in their order.
  fileprivate init?(idKey key: UnsafeRawBufferPointer) {
    guard key.count == 16 else { return nil }
    self.init(bigEndian: key.loadUnaligned(as: UInt128.self))
  }
}
