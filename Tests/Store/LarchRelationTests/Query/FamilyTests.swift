import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// What cars and trucks have in common.
private protocol Vehicle: Record {
  var wheels: Int { get }
  var name: String? { get }
  static var wheelsField: any KeyPath<Self, Int> & Sendable { get }
  static var nameField: any KeyPath<Self, String?> & Sendable { get }
}

extension Vehicle {
  fileprivate static func withWheels(_ least: Int) -> Query<Self> {
    Self.where { $0[wheelsField] >= least }
  }

  fileprivate static func sorted(_ order: FamilyTests.Order, _ query: Query<Self>) -> Query<Self> {
    switch order {
    case .none: query
    case .wheels: query.sorted(by: wheelsField)
    case .wheelsDown: query.sorted(by: wheelsField, .descending)
    case .nameAndWheels:
      query.sorted(by: nameField, options: .caseInsensitive).then(by: wheelsField)
    }
  }

  fileprivate var text: String { "\(Self.self) \(id) \(wheels) \(name ?? "-")" }
}

@Suite("Records of several types, merged by a common order")
struct FamilyTests {
  fileprivate enum Order: CaseIterable { case none, wheels, wheelsDown, nameAndWheels }

  private struct Car: Vehicle {
    var id = RecordID<Car>()
    var wheels: Int
    var name: String?
    var doors = 4
    static let schema = Schema<Car> { Index(\.wheels) }
    static var wheelsField: any KeyPath<Car, Int> & Sendable { \.wheels }
    static var nameField: any KeyPath<Car, String?> & Sendable { \.name }
  }

  private struct Truck: Vehicle {
    var id: String
    var axles: Wheels
    var name: String?
    var wheels: Int { axles.count }
    struct Wheels: Codable, Sendable { var count: Int }
    static let schema = Schema<Truck> { Index(\.axles.count) }
    static var wheelsField: any KeyPath<Truck, Int> & Sendable { \.axles.count }
    static var nameField: any KeyPath<Truck, String?> & Sendable { \.name }
  }

  /// Has no index.
  private struct Bike: Vehicle {
    var id = UUID()
    var wheels: Int
    var name: String?
    static var wheelsField: any KeyPath<Bike, Int> & Sendable { \.wheels }
    static var nameField: any KeyPath<Bike, String?> & Sendable { \.name }
  }

  private struct World {
    var cars: [Car] = []
    var trucks: [Truck] = []
    var bikes: [Bike] = []

    func rows(
      least: Int, _ order: Order, isOdd: Bool, limit: Int?, offset: Int
    ) -> [String] {
      let all: [any Vehicle] =
        cars.map { $0 as any Vehicle } + trucks.map { $0 as any Vehicle }
        + bikes.map { $0 as any Vehicle }
      var rows = all.filter { $0.wheels >= least && (!isOdd || $0.wheels % 2 == 1) }
      func stably(_ before: (any Vehicle, any Vehicle) -> Bool) {
        rows = rows.enumerated().sorted { a, b in
          if before(a.element, b.element) { return true }
          return !before(b.element, a.element) && a.offset < b.offset
        }.map(\.element)
      }
      switch order {
      case .none: break
      case .wheels: stably { $0.wheels < $1.wheels }
      case .wheelsDown: stably { $0.wheels > $1.wheels }
      case .nameAndWheels:
        stably {
          let (a, b) = ($0.name?.lowercased(), $1.name?.lowercased())
          if a == b { return $0.wheels < $1.wheels }
          guard let a else { return true }
          guard let b else { return false }
          return a < b
        }
      }
      return rows.dropFirst(offset).prefix(limit ?? .max).map(\.text)
    }
  }

  private static func fill(_ tx: WriteTransaction, _ random: inout SeededGenerator) throws -> World
  {
    var world = World()
    let names = [nil, "a", "B", "b", "C", "cc"]
    for number in 0..<Int.random(in: 0..<20, using: &random) {
      let (wheels, name) = (
        Int.random(in: 0..<7, using: &random), names.randomElement(using: &random)!
      )
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        var car = Car(wheels: wheels, name: name)
        try tx.save(&car)
        world.cars.append(car)
      case 1:
        var truck = Truck(id: "truck \(number + 10)", axles: .init(count: wheels), name: name)
        try tx.save(&truck)
        world.trucks.append(truck)
      default:
        var bike = Bike(wheels: wheels, name: name)
        try tx.save(&bike)
        world.bikes.append(bike)
      }
    }
    world.bikes.sort { $0.id.uuidString < $1.id.uuidString }
    return world
  }

  private static func family(
    least: Int, _ order: Order, isOdd: Bool, limit: Int?, offset: Int
  ) -> Family<any Vehicle> {
    var family = Family<any Vehicle>(
      Car.sorted(order, Car.withWheels(least)), Truck.sorted(order, Truck.withWheels(least)),
      Bike.sorted(order, Bike.withWheels(least))
    ).offset(offset)
    if isOdd { family = family.filter { $0.wheels % 2 == 1 } }
    if let limit { family = family.limit(limit) }
    return family
  }

  private static func check(
    _ reader: some RecordReading, _ world: World, _ random: inout SeededGenerator, _ seed: UInt64
  ) throws {
    for order in Order.allCases {
      for _ in 0..<4 {
        let least = Int.random(in: 0..<7, using: &random)
        let isOdd = Int.random(in: 0..<4, using: &random) == 0
        let limit = Bool.random(using: &random) ? Int.random(in: 0..<9, using: &random) : nil
        let offset = Bool.random(using: &random) ? Int.random(in: 0..<6, using: &random) : 0
        let request = family(least: least, order, isOdd: isOdd, limit: limit, offset: offset)
        let expected = world.rows(least: least, order, isOdd: isOdd, limit: limit, offset: offset)
        let place = "seed \(seed), \(order), least \(least), odd \(isOdd), \(offset)+\(limit ?? -1)"
        #expect(try reader.fetch(request).map(\.text) == expected, "\(place)")
        #expect(try reader.first(request)?.text == expected.first, "\(place)")
        #expect(try reader.count(request) == expected.count, "\(place)")
        #expect(try reader.exists(request) == !expected.isEmpty, "\(place)")
        var visited: [String] = []
        try reader.forEach(request) { visited.append($0.text) }
        #expect(visited == expected, "\(place)")
      }
    }
  }

  @Test("The answer is that of one array of all", arguments: 0..<12)
  func arrays(number: UInt64) throws {
    var random = SeededGenerator(seed: 33_500 + number)
    let store = try Store.temporary(
      for: Car.self, Truck.self, Bike.self,
      options: { () -> Store.Options in
        var options = Store.Options()
        options.checksQueries = number % 2 == 0
        return options
      }())
    let world = try store.write { tx in
      let world = try Self.fill(tx, &random)
      try Self.check(tx, world, &random, 33_500 + number)
      return world
    }
    try Self.check(store, world, &random, 33_500 + number)
  }

  @Test("Each type uses its own index, and reads no more than the limit")
  func plans() throws {
    let store = try Store.temporary(for: Car.self, Truck.self)
    try store.write { tx in
      for number in 0..<50 {
        var car = Car(wheels: number % 7)
        try tx.save(&car)
        var truck = Truck(id: "\(number)", axles: .init(count: number % 9))
        try tx.save(&truck)
      }
    }
    let request = Family<any Vehicle>(
      Car.sorted(.wheels, Car.withWheels(4)), Truck.sorted(.wheels, Truck.withWheels(4))
    ).limit(2).offset(1)
    let plan = try store.explain(request)
    #expect(
      plan == """
        Car
          index wheels [4] ...
            order served by the index
            limit 3
        Truck
          index axles.count [4] ...
            order served by the index
            limit 3
        merged by wheels
        offset 1
        limit 2
        """, "\(plan)")
    let run = try store.explain(request, running: true)
    #expect(run.components(separatedBy: "3 records").count == 3, "\(run)")
  }

  @Test("Observed families follow each type")
  func observed() async throws {
    let store = try Store.temporary(for: Car.self, Truck.self)
    let request = Family<any Vehicle>(
      Car.sorted(.wheels, Car.all), Truck.sorted(.wheels, Truck.all))
    let values = store.observe(request).makeAsyncIterator()
    #expect(try await values.next()?.value.isEmpty == true)
    var truck = Truck(id: "t", axles: .init(count: 6))
    try await store.write { [truck] tx in
      var truck = truck
      try tx.save(&truck)
    }
    #expect(try await values.next()?.value.map(\.wheels) == [6])
    truck.axles.count = 8
    try await store.write { [truck] tx in
      try tx.update(truck)
      var car = Car(wheels: 7)
      try tx.save(&car)
    }
    #expect(try await values.next()?.value.map(\.wheels) == [7, 8])
  }

  // The records that a limit reads in vain are no rows.
  @Test("A change beyond the limit does not deliver a new value")
  func observedLimit() throws {
    let store = try Store.temporary(for: Car.self, Truck.self)
    try store.write { tx in
      for wheels in [1, 2, 3] {
        var car = Car(wheels: wheels)
        try tx.save(&car)
        var truck = Truck(id: "\(wheels)", axles: .init(count: wheels))
        try tx.save(&truck)
      }
    }
    let observer = store.observe(
      Family<any Vehicle>(Car.sorted(.wheels, Car.all), Truck.sorted(.wheels, Truck.all)).limit(3)
    ).makeAsyncIterator().polled
    #expect(try observer.poll()?.value.map(\.wheels) == [1, 1, 2])
    _ = try store.update(Truck.where { $0.axles.count == 2 }) { $0.name = "new" }
    #expect(try observer.poll() == nil)
    #expect(observer.reads == 2)
    _ = try store.update(Car.where { $0.wheels == 2 }) { $0.name = "new" }
    #expect(try observer.poll()?.value.map(\.name) == [nil, nil, "new"])
  }

  @Test("Different orders, other records and negative numbers are refused")
  func refusals() throws {
    let store = try Store.temporary(for: Car.self, Truck.self, Bike.self)
    func code<Row>(_ request: Family<Row>) -> LarchError.Code? {
      let counted = #expect(throws: LarchError.self) { _ = try store.fetch(request) }
      return counted?.code
    }
    #expect(
      code(Family<any Vehicle>(Car.sorted(.wheels, Car.all), Truck.all)) == .invalidQuery)
    #expect(
      code(
        Family<any Vehicle>(Car.sorted(.wheels, Car.all), Truck.sorted(.wheelsDown, Truck.all)))
        == .invalidQuery)
    // Optional and not: their keys cannot be compared.
    #expect(
      code(Family<any Vehicle>(Car.all.sorted(by: \.name), Truck.all.sorted(by: \.id)))
        == .invalidQuery)
    #expect(code(Family<any Vehicle>(Car.all).limit(-1)) == .invalidQuery)
    #expect(code(Family<any Vehicle>(Car.all).offset(-1)) == .invalidQuery)
    var car = Car(wheels: 1)
    try store.save(&car)
    #expect(code(Family<Truck>(Car.all, Truck.all)) == .invalidQuery)
    #expect(try store.fetch(Family<Car>(Car.all, Car.all)).count == 2)
  }
}
