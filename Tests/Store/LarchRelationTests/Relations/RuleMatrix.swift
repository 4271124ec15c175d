import Testing

@testable import Larch

/// The rules that the types of the matrix declare when a store is opened.
enum MatrixRules {
  /// For the deletion of the record with the property, or of the first end of lists.
  @TaskLocal static var first = DeleteRule.automatic
  @TaskLocal static var second = DeleteRule.automatic

  static let all: [DeleteRule] = [.automatic, .none, .nullify, .destroy, .destroyLast, .deny]
}

/// The types of one kind of association.
struct MatrixFamily: CustomTestStringConvertible {
  let name: String
  let types: [any GraphRecord.Type]
  let kind: DeletionModel.Association.Kind
  /// For each type with references: the property, and the number of the type that it refers to.
  let slots: [(holder: Int, name: String, target: Int)]
  /// Whether at most one other record refers to each record by a property.
  var isOne = false
  /// Lists between the first and the last type.
  var lists: String?

  var testDescription: String { name }

  /// The number of types in a graph, without join records.
  var nodeTypes: Int { kind == .join ? 2 : types.count }

  func associations() -> [DeletionModel.Association] {
    let first = MatrixRules.first
    let second = MatrixRules.second
    if let lists {
      let names = types.map { $0.collectionName }
      return [
        .init(
          "\(names[0])/\(names[types.count - 1])/\(lists)", .links, 0, types.count - 1, first,
          second)
      ]
    }
    return slots.map {
      .init(
        "\(types[$0.holder].collectionName).\($0.name)", kind, $0.holder, $0.target, first, second)
    }
  }

  static let all: [MatrixFamily] = [
    MatrixFamily(
      name: "optional id", types: [OptionalA.self, OptionalB.self], kind: .optional,
      slots: [(0, "x", 1), (0, "y", 1), (1, "x", 0), (1, "y", 0)]),
    MatrixFamily(
      name: "required id", types: [RequiredA.self, RequiredB.self], kind: .required,
      slots: [(0, "x", 1), (0, "y", 1), (1, "x", 0), (1, "y", 0)]),
    MatrixFamily(
      name: "has one", types: [OneA.self, OneB.self], kind: .optional,
      slots: [(0, "x", 1), (0, "y", 1), (1, "x", 0), (1, "y", 0)], isOne: true),
    MatrixFamily(
      name: "list of ids", types: [ListA.self, ListB.self], kind: .list,
      slots: [(0, "x", 1), (1, "x", 0)]),
    MatrixFamily(
      name: "many to many", types: [LinkA.self, LinkB.self], kind: .links, slots: [],
      lists: "lists"),
    MatrixFamily(
      name: "through a join record", types: [ThroughA.self, ThroughB.self, ThroughJoin.self],
      kind: .join, slots: [(2, "x", 0), (2, "y", 1)]),
    MatrixFamily(
      name: "tree", types: [Tree.self], kind: .optional, slots: [(0, "x", 0), (0, "y", 0)]),
    MatrixFamily(
      name: "required tree", types: [RequiredTree.self], kind: .required,
      slots: [(0, "x", 0), (0, "y", 0)]),
    MatrixFamily(
      name: "list of its own type", types: [ListNode.self], kind: .list, slots: [(0, "x", 0)]),
    MatrixFamily(
      name: "many to many of one type", types: [LinkNode.self], kind: .links, slots: [],
      lists: "lists"),
  ]
}

// MARK: - Types

protocol OptionalSlots: GraphRecord where ID == Int {
  var x: Int? { get set }
  var y: Int? { get set }
}

extension OptionalSlots {
  func ids(in slot: Int) -> [Int] { [slot == 0 ? x : y].compactMap(\.self) }
  mutating func set(_ ids: [Int], in slot: Int) {
    if slot == 0 { x = ids.first } else { y = ids.first }
  }
}

protocol RequiredSlots: GraphRecord where ID == Int {
  var x: Int { get set }
  var y: Int { get set }
}

extension RequiredSlots {
  func ids(in slot: Int) -> [Int] { [slot == 0 ? x : y] }
  mutating func set(_ ids: [Int], in slot: Int) {
    if slot == 0 { x = ids.first ?? x } else { y = ids.first ?? y }
  }
}

protocol ListSlot: GraphRecord where ID == Int {
  var x: [Int] { get set }
}

extension ListSlot {
  func ids(in slot: Int) -> [Int] { x }
  mutating func set(_ ids: [Int], in slot: Int) { x = ids }
}

protocol NoSlots: GraphRecord where ID == Int {}

extension NoSlots {
  func ids(in slot: Int) -> [Int] { [] }
  mutating func set(_ ids: [Int], in slot: Int) {}
}

struct OptionalA: OptionalSlots {
  var id: Int
  var x: Int?
  var y: Int?
  init(number: Int) { id = number }

  static var schema: Schema<OptionalA> {
    Schema {
      BelongsTo(\.x, to: OptionalB.self, onDelete: MatrixRules.first)
      BelongsTo(\.y, to: OptionalB.self, onDelete: MatrixRules.first)
      HasMany(\OptionalB.x, onDelete: MatrixRules.second)
      HasMany(\OptionalB.y, onDelete: MatrixRules.second)
    }
  }
}

struct OptionalB: OptionalSlots {
  var id: Int
  var x: Int?
  var y: Int?
  init(number: Int) { id = number }

  static var schema: Schema<OptionalB> {
    Schema {
      BelongsTo(\.x, to: OptionalA.self, onDelete: MatrixRules.first)
      BelongsTo(\.y, to: OptionalA.self, onDelete: MatrixRules.first)
      HasMany(\OptionalA.x, onDelete: MatrixRules.second)
      HasMany(\OptionalA.y, onDelete: MatrixRules.second)
    }
  }
}

struct RequiredA: RequiredSlots {
  var id: Int
  var x = 0
  var y = 0
  init(number: Int) { id = number }

  static var schema: Schema<RequiredA> {
    Schema {
      BelongsTo(\.x, to: RequiredB.self, onDelete: MatrixRules.first)
      BelongsTo(\.y, to: RequiredB.self, onDelete: MatrixRules.first)
      HasMany(\RequiredB.x, onDelete: MatrixRules.second)
      HasMany(\RequiredB.y, onDelete: MatrixRules.second)
    }
  }
}

struct RequiredB: RequiredSlots {
  var id: Int
  var x = 0
  var y = 0
  init(number: Int) { id = number }

  static var schema: Schema<RequiredB> {
    Schema {
      BelongsTo(\.x, to: RequiredA.self, onDelete: MatrixRules.first)
      BelongsTo(\.y, to: RequiredA.self, onDelete: MatrixRules.first)
      HasMany(\RequiredA.x, onDelete: MatrixRules.second)
      HasMany(\RequiredA.y, onDelete: MatrixRules.second)
    }
  }
}

struct OneA: OptionalSlots {
  var id: Int
  var x: Int?
  var y: Int?
  init(number: Int) { id = number }

  static var schema: Schema<OneA> {
    Schema {
      BelongsTo(\.x, to: OneB.self, onDelete: MatrixRules.first)
      BelongsTo(\.y, to: OneB.self, onDelete: MatrixRules.first)
      HasOne(\OneB.x, onDelete: MatrixRules.second)
      HasOne(\OneB.y, onDelete: MatrixRules.second)
    }
  }
}

struct OneB: OptionalSlots {
  var id: Int
  var x: Int?
  var y: Int?
  init(number: Int) { id = number }

  static var schema: Schema<OneB> {
    Schema {
      BelongsTo(\.x, to: OneA.self, onDelete: MatrixRules.first)
      BelongsTo(\.y, to: OneA.self, onDelete: MatrixRules.first)
      HasOne(\OneA.x, onDelete: MatrixRules.second)
      HasOne(\OneA.y, onDelete: MatrixRules.second)
    }
  }
}

struct ListA: ListSlot {
  var id: Int
  var x: [Int] = []
  init(number: Int) { id = number }

  static var schema: Schema<ListA> {
    Schema {
      HasMany(ListB.self, in: \.x, onDelete: MatrixRules.first)
      HasMany(\ListB.x, onDelete: MatrixRules.second)
    }
  }
}

struct ListB: ListSlot {
  var id: Int
  var x: [Int] = []
  init(number: Int) { id = number }

  static var schema: Schema<ListB> {
    Schema {
      HasMany(ListA.self, in: \.x, onDelete: MatrixRules.first)
      HasMany(\ListA.x, onDelete: MatrixRules.second)
    }
  }
}

struct LinkA: NoSlots {
  var id: Int
  init(number: Int) { id = number }

  static var schema: Schema<LinkA> {
    Schema { ManyToMany(LinkB.self, named: "lists", onDelete: MatrixRules.first) }
  }
}

struct LinkB: NoSlots {
  var id: Int
  init(number: Int) { id = number }

  static var schema: Schema<LinkB> {
    Schema { ManyToMany(LinkA.self, named: "lists", onDelete: MatrixRules.second) }
  }
}

struct ThroughA: NoSlots {
  var id: Int
  init(number: Int) { id = number }

  static var schema: Schema<ThroughA> {
    Schema {
      HasMany(
        ThroughB.self, through: \ThroughJoin.x, \ThroughJoin.y, onDelete: MatrixRules.second)
    }
  }
}

struct ThroughB: NoSlots {
  var id: Int
  init(number: Int) { id = number }

  static var schema: Schema<ThroughB> {
    Schema {
      HasMany(
        ThroughA.self, through: \ThroughJoin.y, \ThroughJoin.x, onDelete: MatrixRules.second)
    }
  }
}

struct ThroughJoin: RequiredSlots {
  var id: Int
  var x = 0
  var y = 0
  init(number: Int) { id = number }

  static var schema: Schema<ThroughJoin> {
    Schema {
      BelongsTo(\.x, to: ThroughA.self, onDelete: MatrixRules.first)
      BelongsTo(\.y, to: ThroughB.self, onDelete: MatrixRules.first)
    }
  }
}

struct Tree: OptionalSlots {
  var id: Int
  var x: Int?
  var y: Int?
  init(number: Int) { id = number }

  static var schema: Schema<Tree> {
    Schema {
      BelongsTo(\.x, to: Tree.self, onDelete: MatrixRules.first)
      BelongsTo(\.y, to: Tree.self, onDelete: MatrixRules.first)
      HasMany(\Tree.x, onDelete: MatrixRules.second)
      HasMany(\Tree.y, onDelete: MatrixRules.second)
    }
  }
}

struct RequiredTree: RequiredSlots {
  var id: Int
  var x = 0
  var y = 0
  init(number: Int) { id = number }

  static var schema: Schema<RequiredTree> {
    Schema {
      BelongsTo(\.x, to: RequiredTree.self, onDelete: MatrixRules.first)
      BelongsTo(\.y, to: RequiredTree.self, onDelete: MatrixRules.first)
      HasMany(\RequiredTree.x, onDelete: MatrixRules.second)
      HasMany(\RequiredTree.y, onDelete: MatrixRules.second)
    }
  }
}

struct ListNode: ListSlot {
  var id: Int
  var x: [Int] = []
  init(number: Int) { id = number }

  static var schema: Schema<ListNode> {
    Schema {
      HasMany(ListNode.self, in: \.x, onDelete: MatrixRules.first)
      HasMany(\ListNode.x, onDelete: MatrixRules.second)
    }
  }
}

struct LinkNode: NoSlots {
  var id: Int
  init(number: Int) { id = number }

  static var schema: Schema<LinkNode> {
    Schema {
      ManyToMany(LinkNode.self, named: "lists", onDelete: MatrixRules.first)
      ManyToMany(LinkNode.self, named: "lists", isInverse: true, onDelete: MatrixRules.second)
    }
  }
}
