/// A time series: a hundred sensors in turn, an id that the store assigns.
package struct Readings: Shape {
  package static let number: UInt64 = 8
  package static let sensors = 100

  package let count: Int

  package init(size: Int) {
    count = 10 * size
  }

  /// Values are whole multiples of 1/16, so that a sum is the same in any order; none is zero, which a key
  /// would not keep.
  package func record(_ index: Int) -> WorkloadReading {
    var stream = RandomStream(shape: Self.number, record: index)
    return WorkloadReading(
      id: Int64(index), sensor: (index - 1) % Self.sensors, at: Self.date(index),
      value: Double(1 + stream.below(16_000)) / 16)
  }

  static func date(_ index: Int) -> Double { 700_000_000 + Double(index) / 8 }

  package func ids(_ number: Int, _ operation: UInt64) -> [Int64] {
    indexes(number, operation).map(Int64.init)
  }

  /// Spans with so many readings of their sensor.
  package func spans(_ number: Int, readings: Int, _ operation: UInt64) -> [SensorSpan] {
    var stream = stream(operation)
    let width = min(readings * Self.sensors, count)
    return (0..<number).map { _ in
      let from = 1 + stream.below(max(1, count - width))
      return SensorSpan(
        sensor: stream.below(Self.sensors), from: Self.date(from), to: Self.date(from + width))
    }
  }

  package func changes(_ number: Int, _ operation: UInt64) -> [(id: Int64, value: Double)] {
    distinctIndexes(number, operation).map { (Int64($0), record($0).value + 0.5) }
  }
}

package struct WorkloadReading: HashedRow, Equatable, Sendable {
  package var id: Int64
  package var sensor: Int
  package var at: Double
  package var value: Double

  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id)
    row.add(sensor)
    row.add(at)
    row.add(value)
    result.add(row)
  }
}

/// From a date up to, not including, another.
package struct SensorSpan: Sendable {
  package var sensor: Int
  package var from: Double
  package var to: Double
}

package enum ReadingStep {
  case insert([WorkloadReading])
  case insertEach([WorkloadReading])
  case find([Int64])
  /// The latest of the sensor before the end of each span.
  case page([SensorSpan], limit: Int)
  case range([SensorSpan])
  case count([SensorSpan])
  case countsBySensor
  case sum([SensorSpan])
  case highest([SensorSpan])
  case update([(id: Int64, value: Double)])
  case delete([Int64])
}
