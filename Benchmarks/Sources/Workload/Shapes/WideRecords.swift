/// Records of 40 fields, of which queries use three.
package struct WideRecords: Shape {
  package static let number: UInt64 = 4
  package static let regions = Array(Vocabulary.cities.prefix(40))
  package static let (numbers, reals, texts) = (20, 10, 10)

  package let count: Int

  package init(size: Int) {
    count = max(1, size / 2)
  }

  /// The first text is the region, the first number the grade, 0…99, the second one the amount.
  package func record(_ index: Int) -> WorkloadWide {
    var stream = RandomStream(shape: Self.number, record: index)
    let region = stream.skewed(Self.regions)
    let grade = stream.below(100)
    return WorkloadWide(
      id: Int64(index),
      numbers: [grade] + (1..<Self.numbers).map { _ in stream.below(1_000_000) },
      reals: (0..<Self.reals).map { _ in Double(stream.next() >> 11) * 0x1p-53 },
      texts: [region] + (1..<Self.texts).map { _ in stream.pick(Vocabulary.lastNames) })
  }

  package func ids(_ number: Int, _ operation: UInt64) -> [Int64] {
    indexes(number, operation).map(Int64.init)
  }

  package func places(_ number: Int, _ operation: UInt64) -> [WidePlace] {
    var stream = stream(operation)
    return (0..<number).map { _ in
      WidePlace(region: stream.pick(Self.regions), grade: stream.below(90))
    }
  }

  package func changes(_ number: Int, _ operation: UInt64) -> [(id: Int64, grade: Int)] {
    distinctIndexes(number, operation).map { (Int64($0), (record($0).numbers[0] + 1) % 100) }
  }
}

package struct WorkloadWide: HashedRow, Equatable, Sendable {
  package var id: Int64
  package var numbers: [Int]
  package var reals: [Double]
  package var texts: [String]

  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id)
    for number in numbers { row.add(number) }
    for real in reals { row.add(real) }
    for text in texts { row.add(text, depth) }
    result.add(row)
  }
}

/// Ten grades of a region, from this one on.
package struct WidePlace: Sendable {
  package var region: String
  package var grade: Int
}

package enum WideStep {
  case insert([WorkloadWide])
  case insertEach([WorkloadWide])
  case find([Int64])
  /// The first by grade in each region, from the grade on.
  case page([WidePlace], limit: Int)
  /// Region, grade and amount of each place.
  case range([WidePlace])
  case count([WidePlace])
  case countsByRegion
  /// The amounts of each place.
  case sum([WidePlace])
  /// Region, grade and amount where the third number, which no index has, is below this.
  case filter(below: Int)
  case update([(id: Int64, grade: Int)])
  case delete([Int64])
}
