import LarchTestSupport
import Testing

@testable import Larch

@Suite("An enum with payloads as a record")
struct PayloadEnumTests {
  private enum Vehicle: Record, Equatable {
    case car(Car)
    case truck(Truck)

    struct Car: Codable, Sendable, Equatable {
      var id = RecordID<Vehicle>()
      var maker: String
      var doors: Int
    }
    struct Truck: Codable, Sendable, Equatable {
      var id = RecordID<Vehicle>()
      var maker: String
      var axles: Int
      var garageID: Garage.ID?
    }

    var id: RecordID<Vehicle> {
      get {
        switch self {
        case .car(let car): car.id
        case .truck(let truck): truck.id
        }
      }
      set {
        switch self {
        case .car(var car):
          car.id = newValue
          self = .car(car)
        case .truck(var truck):
          truck.id = newValue
          self = .truck(truck)
        }
      }
    }

    var maker: String {
      switch self {
      case .car(let car): car.maker
      case .truck(let truck): truck.maker
      }
    }

    var wheels: Int {
      switch self {
      case .car: 4
      case .truck(let truck): truck.axles * 2
      }
    }

    var isTruck: Bool {
      if case .truck = self { return true }
      return false
    }

    static let schema = Schema<Vehicle> {
      Index(\.wheels, name: "wheels")
      Index(\.maker, \.wheels, name: "maker_wheels")
    }
  }

  private struct Garage: Record {
    var id = RecordID<Garage>()
  }

  private static func fill(
    _ tx: WriteTransaction, _ random: inout SeededGenerator
  ) throws -> [Vehicle] {
    try (0..<40).map { _ in
      let maker = ["Ford", "Volvo", "MAN"].randomElement(using: &random)!
      var vehicle: Vehicle =
        Bool.random(using: &random)
        ? .car(.init(maker: maker, doors: .random(in: 2..<6, using: &random)))
        : .truck(.init(maker: maker, axles: .random(in: 1..<6, using: &random)))
      try tx.save(&vehicle)
      return vehicle
    }
  }

  private static func check(_ reader: some RecordReading, _ all: [Vehicle]) throws {
    for wheels in 0..<12 {
      #expect(
        try reader.fetch(Vehicle.where { $0.wheels >= wheels && $0.maker == "Ford" })
          == all.filter { $0.wheels >= wheels && $0.maker == "Ford" })
      #expect(
        try reader.fetch(
          Vehicle.where { $0.wheels == wheels }.sorted(by: \.maker, .descending).limit(5))
          == Array(
            all.filter { $0.wheels == wheels }
              .sorted { ($1.maker, $0.id.rawValue) < ($0.maker, $1.id.rawValue) }.prefix(5)))
      #expect(
        try reader.count(Vehicle.where { $0.wheels < wheels })
          == all.filter { $0.wheels < wheels }.count)
    }
    #expect(
      try reader.fetch(Vehicle.where { $0.isTruck && $0.wheels > 4 })
        == all.filter { $0.isTruck && $0.wheels > 4 })
    #expect(
      try reader.fetch(Vehicle.where { $0.id > all[10].id && $0.id <= all[20].id })
        == Array(all[11...20]))
    for vehicle in all { #expect(try reader.find(Vehicle.self, vehicle.id) == vehicle) }
  }

  @Test("Its id is assigned, and shared computed properties filter and sort by indexes")
  func queries() throws {
    for seed in UInt64(33_600)..<33_604 {
      var random = SeededGenerator(seed: seed)
      let store = try Store.checked(for: Vehicle.self)
      var all = try store.write { tx in
        let all = try Self.fill(tx, &random)
        try Self.check(tx, all)
        return all
      }
      #expect(all.map(\.id.rawValue) == Array(1...40))
      try Self.check(store, all)
      // A car becomes a truck under its id.
      for place in stride(from: 0, to: 40, by: 7) {
        all[place] = .truck(.init(id: all[place].id, maker: "MAN", axles: 3))
        try store.update(all[place])
      }
      try Self.check(store, all)
      _ = try store.update(Vehicle.where { $0.wheels == 6 }) { vehicle in
        guard case .truck(var truck) = vehicle else { return }
        truck.axles = 4
        vehicle = .truck(truck)
      }
      all = all.map { vehicle in
        guard case .truck(var truck) = vehicle, truck.axles == 3 else { return vehicle }
        truck.axles = 4
        return .truck(truck)
      }
      try Self.check(store, all)
      #expect(try store.verify().isClean)
    }
  }

  @Test("The plans use the indexes")
  func plans() throws {
    let store = try Store.temporary(for: Vehicle.self)
    var random = SeededGenerator(seed: 33_610)
    _ = try store.write { tx in try Self.fill(tx, &random) }
    let range = try store.explain(Vehicle.where { $0.wheels >= 8 })
    #expect(range.hasPrefix("index wheels"), "\(range)")
    let sorted = try store.explain(Vehicle.where { $0.maker == "Ford" }.sorted(by: \.wheels))
    #expect(sorted.hasPrefix("index maker_wheels"), "\(sorted)")
    #expect(sorted.contains("order served by the index"), "\(sorted)")
  }
}
