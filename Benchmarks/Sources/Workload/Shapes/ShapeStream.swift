extension RandomStream {
  /// The stream of a record of a shape; shapes have numbers of their own.
  init(shape: UInt64, record: Int) {
    self.init(
      state: mix64(mix64(RandomStream.seed ^ (shape &* 0x100_0000_01B3)) &+ UInt64(record)))
  }

  /// One of the values; the first ones are the common ones.
  mutating func skewed<T>(_ values: [T]) -> T {
    values[triangular(values.count)]
  }

  mutating func pick<T>(_ values: [T]) -> T {
    values[below(values.count)]
  }

  /// Words up to about so many bytes.
  mutating func sentence(_ length: Int) -> String {
    var text = ""
    text.reserveCapacity(length + 12)
    while text.utf8.count < length {
      if !text.isEmpty { text += " " }
      text += pick(Vocabulary.lastNames)
    }
    return text
  }
}

/// What the shapes share: how many records there are, and which ones are asked for.
package protocol Shape: Sendable {
  associatedtype Element

  /// The number of its streams.
  static var number: UInt64 { get }
  /// Records that are loaded.
  var count: Int { get }

  /// Record `index`, 1-based; those behind `count` are inserted later.
  func record(_ index: Int) -> Element
}

extension Shape {
  package var all: [Element] { (1...count).map(record) }

  /// The next records after those loaded, from the `first` of them on.
  package func further(_ number: Int, from first: Int = 1) -> [Element] {
    (first..<first + number).map { record(count + $0) }
  }

  /// The numbers of an operation.
  package func stream(_ operation: UInt64) -> RandomStream {
    RandomStream(operation: Self.number &* 1_000 &+ operation)
  }

  /// So many indexes of loaded records, any number of times each.
  package func indexes(_ number: Int, _ operation: UInt64) -> [Int] {
    var stream = stream(operation)
    return (0..<number).map { _ in 1 + stream.below(count) }
  }

  /// Different ones, no more than a third of all.
  package func distinctIndexes(_ number: Int, _ operation: UInt64) -> [Int] {
    var stream = stream(operation)
    return stream.distinct(min(number, max(1, count / 3)), upTo: count).map(Int.init)
  }
}
