public import Foundation

/// Events: a random UUID as id, a date, an enum that has a text, sometimes a note.
package struct Events: Shape {
  package static let number: UInt64 = 1
  package static let kinds = ["opened", "clicked", "bought", "returned", "failed", "closed"]
  package static let devices = (0..<50).map { "\(["phone", "tablet", "laptop"][$0 % 3]) \($0)" }

  package let count: Int

  package init(size: Int) {
    count = size
  }

  package func record(_ index: Int) -> WorkloadEvent {
    var stream = RandomStream(shape: Self.number, record: index)
    let id = UUID(high: stream.next(), low: stream.next())
    // One a minute: no two have the same date.
    let at = 700_000_000 + Double(index) * 60 + Double(stream.below(60_000)) / 1_000
    let kind = stream.skewed(Self.kinds)
    let device = stream.skewed(Self.devices)
    let amount = stream.below(100_000)
    let length = 10 + stream.below(50)
    let note = stream.below(4) == 0 ? stream.sentence(length) : nil
    return WorkloadEvent(id: id, at: at, kind: kind, device: device, amount: amount, note: note)
  }

  package func ids(_ indexes: [Int]) -> [UUID] { indexes.map { record($0).id } }

  /// Dates of loaded events.
  package func dates(_ number: Int, _ operation: UInt64) -> [Double] {
    indexes(number, operation).map { record($0).at }
  }

  /// Spans that hold so many of the events, of any kind.
  package func spans(_ number: Int, events: Int, _ operation: UInt64) -> [EventSpan] {
    var stream = stream(operation)
    let last = max(1, count - events)
    return (0..<number).map { _ in
      let from = 700_000_000 + Double(1 + stream.below(last)) * 60
      return EventSpan(
        kind: stream.pick(Self.kinds), from: from, to: from + Double(min(events, count)) * 60)
    }
  }

  /// Events that get another kind.
  package func changes(_ number: Int, _ operation: UInt64) -> [(id: UUID, kind: String)] {
    distinctIndexes(number, operation).map { index in
      let event = record(index)
      let next = (Self.kinds.firstIndex(of: event.kind) ?? 0) + 1
      return (event.id, Self.kinds[next % Self.kinds.count])
    }
  }
}

package struct WorkloadEvent: HashedRow, Equatable, Sendable {
  package var id: UUID
  /// Seconds since the reference date.
  package var at: Double
  package var kind: String
  package var device: String
  package var amount: Int
  package var note: String?

  package init(
    id: UUID, at: Double = 0, kind: String = "", device: String = "", amount: Int = 0,
    note: String? = nil
  ) {
    (self.id, self.at, self.kind) = (id, at, kind)
    (self.device, self.amount, self.note) = (device, amount, note)
  }

  package func add(to result: inout QueryResult, _ depth: HashDepth) {
    var row = RowHash()
    row.add(id)
    row.add(at)
    row.add(kind, depth)
    row.add(device, depth)
    row.add(amount)
    row.add(note, depth)
    result.add(row)
  }
}

/// From a date up to, not including, another.
package struct EventSpan: Sendable {
  package var kind: String
  package var from: Double
  package var to: Double

  package init(kind: String = "", from: Double, to: Double) {
    (self.kind, self.from, self.to) = (kind, from, to)
  }
}

package enum EventStep {
  /// In one transaction.
  case insert([WorkloadEvent])
  /// Each in a durable transaction.
  case insertEach([WorkloadEvent])
  case find([UUID])
  /// The latest before each date.
  case page([Double], limit: Int)
  /// The latest of the kind before the end of each span.
  case pageOfKind([EventSpan], limit: Int)
  /// Those in each span, of any kind.
  case range([EventSpan])
  /// How many of the kind there are in each span.
  case count([EventSpan])
  case sum([EventSpan])
  case countsByKind
  case countsByDevice
  case distinctKinds
  /// In one transaction, each fetched first.
  case update([(id: UUID, kind: String)])
  case delete([UUID])
}

extension UUID {
  /// A random UUID of these bits.
  init(high: UInt64, low: UInt64) {
    let high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    let low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    let bytes = [high, low].flatMap { half in
      (0..<8).map { UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * $0)) }
    }
    self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}

extension RowHash {
  @inlinable @inline(__always)
  package mutating func add(_ id: UUID) {
    let (high, low) = withUnsafeBytes(of: id.uuid) { bytes in
      (
        UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      )
    }
    add(bits: high)
    add(bits: low)
  }
}
