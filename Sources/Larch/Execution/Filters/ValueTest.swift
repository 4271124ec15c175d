/// A `FieldTest` compiled for one type: numbers and bytes to compare with, without look-ups.
final class ValueTest {
  private enum Operation: UInt8 {
    case never, present, numbers, numberList, bytes, byteList, text, unknown
  }

  let primitive: KeyForm.Primitive
  let kind: FieldKind
  /// The outcome for nil.
  let whenNil: Outcome
  private let operation: Operation
  /// Numbers from `least` to `greatest` pass.
  private let least: UInt64
  private let greatest: UInt64
  private let list: [UInt64]
  private let lower: ByteBound?
  private let upper: ByteBound?
  /// Both bounds are the same bytes.
  private let isEquality: Bool
  private let byteList: [[UInt8]]
  private let text: CompiledTextTest?
  @exclusivity(unchecked) private var buffer = NFCBuffer()

  /// A bound of text or data; text in normal form.
  private struct ByteBound {
    var bytes: [UInt8]
    var isIncluded: Bool
  }

  /// - Parameter isFolded: whether the tested texts are in the form of the test already.
  init(
    _ test: FieldTest, _ primitive: KeyForm.Primitive, isOptional: Bool, isFolded: Bool = false
  ) {
    self.primitive = primitive
    kind = primitive.storedKind
    var draft = Draft(primitive, isFolded: isFolded)
    draft.take(test)
    whenNil = isOptional ? Outcome(draft.acceptsNil) : .unknown
    operation = draft.operation
    least = draft.least
    greatest = draft.greatest
    list = draft.list
    lower = draft.lower
    upper = draft.upper
    byteList = draft.byteList
    isEquality =
      lower?.isIncluded == true && upper?.isIncluded == true
      && lower?.bytes == upper?.bytes
    text = draft.text
  }

  /// The numbers that pass, if they are a single range.
  var bounds: (least: UInt64, greatest: UInt64)? {
    operation == .numbers ? (least, greatest) : nil
  }

  // MARK: Asking

  @inline(__always)
  func test(number: UInt64) -> Outcome {
    if operation == .numbers { return Outcome(number >= least && number <= greatest) }
    return testRare(number: number)
  }

  private func testRare(number: UInt64) -> Outcome {
    switch operation {
    case .never: return .no
    case .present: return .yes
    case .numberList:
      let place = list.placeAfter { $0 < number }
      return Outcome(place < list.count && list[place] == number)
    default: return .unknown
    }
  }

  /// A stored value of the kind of the test.
  @inline(__always)
  func test(stored bytes: UnsafeRawBufferPointer) -> Outcome {
    if kind.rawValue <= FieldKind.date.rawValue {
      return test(number: ComparableNumber.of(kind, stored: bytes))
    }
    if kind == .decimal { return test(decimal: bytes) }
    return test(bytes: bytes, isNormal: false)
  }

  /// As the bytes of its key. Damaged bytes are left to the decoder.
  @inline(never)
  private func test(decimal bytes: UnsafeRawBufferPointer) -> Outcome {
    DecimalDigits(stored: bytes)?.withKey { test(bytes: $0, isNormal: true) } ?? .unknown
  }

  /// Text, data, a UUID or the key of a decimal; `isNormal`: text is known to be in normal form.
  func test(bytes: UnsafeRawBufferPointer, isNormal: Bool) -> Outcome {
    switch operation {
    case .never: return .no
    case .present: return .yes
    case .text: return text.map { $0.test(bytes) } ?? .unknown
    case .bytes, .byteList:
      let value = isNormal || !primitive.isText ? bytes : normalized(bytes, &buffer)
      return Outcome(operation == .bytes ? isBetween(value) : isListed(value))
    case .numbers, .numberList, .unknown: return .unknown
    }
  }

  private func isBetween(_ value: UnsafeRawBufferPointer) -> Bool {
    if isEquality, let lower { return lower.bytes.withUnsafeBytes { $0.equals(value) } }
    if let lower {
      let order = lower.bytes.withUnsafeBytes { compareBytes(value, $0) }
      if order < 0 || (order == 0 && !lower.isIncluded) { return false }
    }
    if let upper {
      let order = upper.bytes.withUnsafeBytes { compareBytes(value, $0) }
      if order > 0 || (order == 0 && !upper.isIncluded) { return false }
    }
    return true
  }

  private func isListed(_ value: UnsafeRawBufferPointer) -> Bool {
    var low = 0
    var high = byteList.count
    while low < high {
      let middle = (low + high) / 2
      let order = byteList[middle].withUnsafeBytes { compareBytes($0, value) }
      if order == 0 { return true }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return false
  }
}

/// Text in normal form; in `buffer` if it had to be converted.
@inline(__always)
func normalized(
  _ utf8: UnsafeRawBufferPointer, _ buffer: inout NFCBuffer
) -> UnsafeRawBufferPointer {
  guard let start = utf8.baseAddress, !NFC.isPlain(start, count: utf8.count) else { return utf8 }
  buffer.normalize(utf8)
  return buffer.borrowedBytes
}

// MARK: - Making

extension ValueTest {
  /// A test while it is being compiled.
  private struct Draft {
    let primitive: KeyForm.Primitive
    let isFolded: Bool
    var operation = Operation.unknown
    var acceptsNil = false
    var least: UInt64 = 0
    var greatest = UInt64.max
    var list: [UInt64] = []
    var lower: ByteBound?
    var upper: ByteBound?
    var byteList: [[UInt8]] = []
    var text: CompiledTextTest?

    init(_ primitive: KeyForm.Primitive, isFolded: Bool) {
      self.primitive = primitive
      self.isFolded = isFolded
    }

    mutating func take(_ test: FieldTest) {
      switch test {
      case .equal(let values): take(oneOf: [values])
      case .oneOf(let list): take(oneOf: list)
      case .within(let lower, let upper): take(from: lower, to: upper)
      case .text(let test):
        guard primitive == .string else { return }
        text = CompiledTextTest(test, isFolded: isFolded)
        operation = .text
      }
    }

    private mutating func take(oneOf values: [[KeyValue]]) {
      for item in values {
        guard item.count == 1 else { return }
        if case .null = item[0] {
          acceptsNil = true
        } else if primitive.isNumber {
          guard let number = ComparableNumber.of(item[0], as: primitive) else { return }
          // NaN equals nothing.
          if !primitive.isFloatingPoint || number != ComparableNumber.nan { list.append(number) }
        } else {
          guard let bytes = Draft.bytes(item[0], primitive) else { return }
          byteList.append(bytes)
        }
      }
      if list.isEmpty, byteList.isEmpty {
        operation = .never
      } else if list.count == 1 {
        operation = .numbers
        least = list[0]
        greatest = list[0]
      } else if byteList.count == 1 {
        operation = .bytes
        lower = ByteBound(bytes: byteList[0], isIncluded: true)
        upper = lower
      } else if !list.isEmpty {
        operation = .numberList
        list.sort()
      } else {
        operation = .byteList
        byteList.sort { $0.lexicographicallyPrecedes($1) }
      }
    }

    private mutating func take(from: ValueBound?, to: ValueBound?) {
      if primitive.isNumber {
        take(numbersFrom: from, to: to)
      } else {
        for (bound, isLower) in [(from, true), (to, false)] {
          guard let bound else { continue }
          guard bound.values.count == 1, let bytes = Draft.bytes(bound.values[0], primitive) else {
            return
          }
          let made = ByteBound(bytes: bytes, isIncluded: bound.isIncluded)
          if isLower { lower = made } else { upper = made }
        }
        operation = .bytes
      }
    }

    private mutating func take(numbersFrom from: ValueBound?, to: ValueBound?) {
      if primitive.isFloatingPoint { greatest = ComparableNumber.infinity }
      var isEmpty = false
      if let from {
        guard from.values.count == 1,
          let number = ComparableNumber.of(from.values[0], as: primitive)
        else { return }
        isEmpty = number > greatest || (number == UInt64.max && !from.isIncluded)
        least = from.isIncluded ? number : number &+ 1
      }
      if let to {
        guard to.values.count == 1, let number = ComparableNumber.of(to.values[0], as: primitive)
        else { return }
        isEmpty = isEmpty || number > greatest || (number == 0 && !to.isIncluded)
        greatest = to.isIncluded ? number : number &- 1
      }
      operation = isEmpty || least > greatest ? .never : .numbers
    }

    private static func bytes(_ value: KeyValue, _ primitive: KeyForm.Primitive) -> [UInt8]? {
      switch (primitive, value) {
      case (.string, .string(let text)): NFC.normalized(text)
      // URLs are equal only when their bytes are.
      case (.url, .url(let text)): Array(text.utf8)
      case (.data, .data(let bytes)), (.uuid, .uuid(let bytes)): bytes
      case (.decimal, .decimal(let key)): key.bytes
      default: nil
      }
    }
  }
}
