import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of docs/queries.md about families and left out fields.

// snippet: family-protocol
protocol Vehicle: Record {
  var wheels: Int { get }
  static var wheelsField: any KeyPath<Self, Int> & Sendable { get }
}

extension Vehicle {
  static func withWheels(_ least: Int) -> Query<Self> {
    Self.where { $0[wheelsField] >= least }.sorted(by: wheelsField)
  }
}

struct Car: Vehicle {
  var id = RecordID<Car>()
  var wheels = 4
  var doors: Int

  static var wheelsField: any KeyPath<Car, Int> & Sendable { \.wheels }
  static let schema = Schema<Car> { Index(\.wheels) }
}

struct Truck: Vehicle {
  var id = RecordID<Truck>()
  var wheels: Int
  var load: Double

  static var wheelsField: any KeyPath<Truck, Int> & Sendable { \.wheels }
  static let schema = Schema<Truck> { Index(\.wheels) }
}
// end snippet

// snippet: family-enum
enum Shape: Record {
  case circle(Circle)
  case box(Box)

  struct Circle: Codable, Sendable {
    var id = RecordID<Shape>()
    var radius: Double
  }

  struct Box: Codable, Sendable {
    var id = RecordID<Shape>()
    var width: Double
    var height: Double
  }

  var id: RecordID<Shape> {
    get {
      switch self {
      case .circle(let circle): circle.id
      case .box(let box): box.id
      }
    }
    set {
      switch self {
      case .circle(var circle):
        circle.id = newValue
        self = .circle(circle)
      case .box(var box):
        box.id = newValue
        self = .box(box)
      }
    }
  }

  var width: Double {
    switch self {
    case .circle(let circle): 2 * circle.radius
    case .box(let box): box.width
    }
  }

  static let schema = Schema<Shape> { Index(\.width, name: "width") }
}
// end snippet

extension QueryGuide {
  @Suite("queries.md: families, and fields that are left out")
  struct Families {
    @Test("Types with a protocol are one request")
    func protocols() throws {
      let store = try Store.checked(for: Car.self, Truck.self)
      try store.write { tx in
        var car = Car(doors: 5)
        try tx.save(&car)
        for wheels in [6, 4, 8] {
          var truck = Truck(wheels: wheels, load: 7.5)
          try tx.save(&truck)
        }
      }
      // snippet: family-fetch
      let vehicles = Family<any Vehicle>(Car.withWheels(4), Truck.withWheels(4)).limit(3)
      for vehicle in try store.fetch(vehicles) {  // [any Vehicle]
        print(type(of: vehicle), vehicle.wheels)
      }
      // end snippet
      #expect(
        try store.fetch(vehicles).map { "\(type(of: $0)) \($0.wheels)" }
          == ["Car 4", "Truck 4", "Truck 6"])
      #expect(try store.explain(vehicles).contains("merged by wheels"))
    }

    @Test("An enum with payloads is one type")
    func enums() throws {
      let store = try Store.checked(for: Shape.self)
      try store.write { tx in
        var circle = Shape.circle(.init(radius: 3))
        var box = Shape.box(.init(width: 2, height: 1))
        try tx.save(&circle)
        try tx.save(&box)
      }
      // snippet: family-enum-fetch
      let wide = try store.fetch(Shape.where { $0.width > 1 }.sorted(by: \.width))
      // end snippet
      #expect(wide.map(\.width) == [2, 6])
      #expect(
        try store.explain(Shape.where { $0.width > 1 }.sorted(by: \.width)).hasPrefix("index width")
      )
    }

    @Test("Fields that are left out")
    func leftOut() throws {
      let (store, all) = try filled()
      // snippet: query-select-except
      let list = Person.all.sorted(by: \.name).leavingOut(\.address, \.tags, as: nil, [])
      for person in try store.fetch(list.limit(20)) {  // [Excerpt<Person>]
        print(person.id, person.name, person.city)
      }
      // end snippet
      let rows = try store.fetch(list)
      #expect(rows.map(\.age).sorted() == all.map(\.age).sorted())
      #expect(rows.allSatisfy { $0.address == nil && $0.tags.isEmpty })
    }
  }
}
