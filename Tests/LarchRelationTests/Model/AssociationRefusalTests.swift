import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Declarations that cannot be used, each by itself.
private enum Refused {
  struct Firm: Record {
    var id = RecordID<Firm>()
    static let schema = Schema<Firm> {}
  }

  struct ManyFirm: Record {
    var id = RecordID<ManyFirm>()
    static let schema = Schema<ManyFirm> { HasMany(\Clerk.firmID, onDelete: .destroy) }
  }
  struct Clerk: Record {
    var id = RecordID<Clerk>()
    var firmID: ManyFirm.ID?
    static let schema = Schema<Clerk> {}
  }

  /// Two types say how many refer to them.
  struct OneOrMany: Record {
    var id = RecordID<OneOrMany>()
    var ownID: OneOrMany.ID?
    static let schema = Schema<OneOrMany> {
      HasMany(\OneOrMany.ownID)
      HasOne(\OneOrMany.ownID)
    }
  }
  struct TwoRules: Record {
    var id = RecordID<TwoRules>()
    var ownID: TwoRules.ID?
    static let schema = Schema<TwoRules> {
      HasMany(\TwoRules.ownID, onDelete: .destroy)
      HasMany(\TwoRules.ownID, onDelete: .deny)
    }
  }
  struct TwoHolderRules: Record {
    var id = RecordID<TwoHolderRules>()
    var ownID: TwoHolderRules.ID?
    static let schema = Schema<TwoHolderRules> {
      BelongsTo(\.ownID, to: TwoHolderRules.self, onDelete: .destroy)
      BelongsTo(\.ownID, to: TwoHolderRules.self, onDelete: .destroyLast)
    }
  }
  struct TwoListRules: Record {
    var id = RecordID<TwoListRules>()
    static let schema = Schema<TwoListRules> {
      ManyToMany(TwoListRules.self, named: "peers", onDelete: .destroy)
      ManyToMany(TwoListRules.self, named: "peers", onDelete: .deny)
    }
  }
  struct NoName: Record {
    var id = RecordID<NoName>()
    static let schema = Schema<NoName> { ManyToMany(NoName.self, named: "") }
  }
  struct SlashName: Record {
    var id = RecordID<SlashName>()
    static let schema = Schema<SlashName> { ManyToMany(SlashName.self, named: "a/b") }
  }
  struct LongName: Record {
    var id = RecordID<LongName>()
    static let schema = Schema<LongName> {
      ManyToMany(LongName.self, named: String(repeating: "x", count: 65))
    }
  }
  struct Computed: Record {
    var id = RecordID<Computed>()
    var number: Int64 = 0
    var otherID: Computed.ID? { Computed.ID(number) }
    static let schema = Schema<Computed> { BelongsTo(\.otherID, to: Computed.self) }
  }
  struct Observed: Record {
    var id = RecordID<Observed>()
    var otherID: Observed.ID? { didSet {} }
    static let schema = Schema<Observed> { BelongsTo(\.otherID, to: Observed.self) }
  }
  struct LongKey: Record {
    var id = RecordID<LongKey>()
    var otherID: LongKey.ID?
    enum CodingKeys: String, CodingKey {
      case id
      case otherID =
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
    }
    static let schema = Schema<LongKey> { BelongsTo(\.otherID, to: LongKey.self) }
  }

  struct Left: Record {
    var id: String
    static let schema = Schema<Left> { HasMany(\Both.sideID) }
  }
  struct Right: Record {
    var id: String
    static let schema = Schema<Right> { HasMany(\Both.sideID) }
  }
  struct Both: Record {
    var id = RecordID<Both>()
    var sideID: String?
    static let schema = Schema<Both> {}
  }

  struct OneOfList: Record {
    var id: Int
    var otherIDs: [Int] = []
    static let schema = Schema<OneOfList> { HasOne(\OneOfList.otherIDs) }
  }
  struct ListAsOne: Record {
    var id: Int
    var otherIDs: [Int] = []
    static let schema = Schema<ListAsOne> { BelongsTo(\.otherIDs, to: ListAsOne.self) }
  }
  struct OneAsList: Record {
    var id: Int
    var otherID: Int?
    static let schema = Schema<OneAsList> { HasMany(OneAsList.self, in: \.otherID) }
  }
  struct NullifyRequired: Record {
    var id: Int
    var otherID: Int
    static let schema = Schema<NullifyRequired> {
      HasMany(\NullifyRequired.otherID, onDelete: .nullify)
    }
  }
  struct NullifyConstant: Record {
    var id: Int
    let otherID: Int?
    static let schema = Schema<NullifyConstant> {
      HasMany(\NullifyConstant.otherID, onDelete: .nullify)
    }
  }
  /// Was opened, and its rule was `.deny`: what refers to a record kept it from being deleted, though
  /// the reference can be nil.
  struct InOptional: Record {
    var id: Int
    var origin: Origin?
    struct Origin: Codable, Sendable { var otherID: Int? }
    static let schema = Schema<InOptional> { BelongsTo(\.origin?.otherID, to: InOptional.self) }
  }
  struct NullifyInOptional: Record {
    var id: Int
    var origin: Origin?
    struct Origin: Codable, Sendable { var otherID: Int }
    static let schema = Schema<NullifyInOptional> {
      HasMany(\NullifyInOptional.origin?.otherID, onDelete: .nullify)
    }
  }

  struct Reversed: RawRepresentable, RecordIdentifier {
    var rawValue: Int
    var indexValue: String { String(String(rawValue).reversed()) }
  }
  struct OtherIndexValue: Record {
    var id: Reversed
    var otherID: Reversed?
    static let schema = Schema<OtherIndexValue> { BelongsTo(\.otherID, to: OtherIndexValue.self) }
  }

  struct Dotted: Record {
    var id: Int
    var inner = Inner()
    struct Inner: Codable, Sendable { var otherID: Int? }
    static let collectionName = "A"
    static let schema = Schema<Dotted> { BelongsTo(\.inner.otherID, to: Dotted.self) }
  }
  struct DottedName: Record {
    var id: Int
    var otherID: Int?
    static let collectionName = "A.inner"
    static let schema = Schema<DottedName> { BelongsTo(\.otherID, to: DottedName.self) }
  }
  struct SlashKey: Record {
    var id: Int
    var otherID: Int?
    enum CodingKeys: String, CodingKey {
      case id
      case otherID = "inner/A.inner/peers"
    }
    static let collectionName = "A"
    static let schema = Schema<SlashKey> { BelongsTo(\.otherID, to: SlashKey.self) }
  }
  struct SlashLists: Record {
    var id: Int
    static let collectionName = "A.inner"
    static let schema = Schema<SlashLists> { ManyToMany(SlashLists.self, named: "peers") }
  }
}

@Suite("Associations that cannot be used")
struct AssociationRefusalTests {
  @Test(
    "A wrong declaration is refused, before there is a file, with a sentence that says what to change",
    arguments: [
      ([Refused.ManyFirm.self], "ManyFirm", "Clerk.firmID", "not opened with"),
      ([Refused.OneOrMany.self], "OneOrMany", "OneOrMany.ownID", "remove one"),
      ([Refused.TwoRules.self], "TwoRules", "TwoRules.ownID", "different delete rules"),
      (
        [Refused.TwoHolderRules.self], "TwoHolderRules", "TwoHolderRules.ownID",
        "different delete rules"
      ),
      (
        [Refused.TwoListRules.self], "TwoListRules", "TwoListRules/TwoListRules/peers",
        "different delete rules"
      ),
      ([Refused.NoName.self], "NoName", nil, "`named:`"),
      ([Refused.SlashName.self], "SlashName", "a/b", "`named:`"),
      ([Refused.LongName.self], "LongName", "xxx", "`named:`"),
      ([Refused.Computed.self], "Computed", nil, "needs the stored property"),
      ([Refused.Observed.self], "Observed", nil, "needs the stored property"),
      ([Refused.LongKey.self], "LongKey", "LongKey.0123", "shorter coding key"),
      (
        [Refused.Left.self, Refused.Right.self, Refused.Both.self], "Both", "Both.sideID",
        "different target types"
      ),
      ([Refused.OneOfList.self], "OneOfList", "OneOfList.otherIDs", "declare `HasMany`"),
      ([Refused.ListAsOne.self], "ListAsOne", "ListAsOne.otherIDs", "use the one that fits"),
      ([Refused.OneAsList.self], "OneAsList", "OneAsList.otherID", "use the one that fits"),
      ([Refused.NullifyRequired.self], "NullifyRequired", "NullifyRequired.otherID", "optional"),
      ([Refused.NullifyConstant.self], "NullifyConstant", "NullifyConstant.otherID", "`var`"),
      ([Refused.InOptional.self], "InOptional", "InOptional.origin.otherID", "an optional (`?`)"),
      (
        [Refused.NullifyInOptional.self], "NullifyInOptional", "NullifyInOptional.origin.otherID",
        "an optional (`?`)"
      ),
      (
        [Refused.OtherIndexValue.self], "OtherIndexValue", "OtherIndexValue.otherID",
        "`indexValue`"
      ),
      ([Refused.Dotted.self, Refused.DottedName.self], "A.inner", "A.inner.otherID", "same name"),
      (
        [Refused.SlashKey.self, Refused.SlashLists.self], "A.inner", "A.inner/A.inner/peers",
        "same name"
      ),
      (
        [Refused.SlashLists.self, Refused.SlashKey.self], "A", "A.inner/A.inner/peers",
        "same name"
      ),
    ] as [([any Record.Type], String, String?, String)])
  func refused(types: [any Record.Type], collection: String, field: String?, hint: String) throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let error = caught {
      try Store(path: path, types: types, options: .init(), isTemporary: false).close()
    }
    #expect(error?.code == .invalidSchema, "\(types): \(String(describing: error))")
    #expect(error?.message.contains(hint) == true, "\(types): \(error?.message ?? "")")
    #expect(error?.context.collection == collection, "\(String(describing: error))")
    if let field {
      #expect(
        error?.context.field?.hasPrefix(field) == true, "\(types): \(String(describing: error))")
    }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("Who is named too makes it good")
  func opened() throws {
    _ = try Store.temporary(for: Refused.ManyFirm.self, Refused.Clerk.self)
    // Without the type that declares it, nobody knows that the property refers to another record.
    _ = try Store.temporary(for: Refused.Clerk.self)
  }

  @Test("A reference through an optional has the rule that is declared for it")
  func inOptional() throws {
    struct Place: Record {
      var id: Int
      var origin: Origin?
      struct Origin: Codable, Sendable { var otherID: Int }
      static let schema = Schema<Place> {
        BelongsTo(\.origin?.otherID, to: Place.self)
        HasMany(\Place.origin?.otherID, onDelete: .destroy)
      }
    }
    let store = try Store.temporary(for: Place.self)
    try store.write { tx throws in
      for place in [
        Place(id: 1), Place(id: 2, origin: .init(otherID: 1)),
        Place(id: 3, origin: .init(otherID: 3)),
      ] {
        var place = place
        try tx.save(&place)
      }
      try tx.delete(Place.self, 1)
    }
    #expect(try store.ids(Place.all) == [3])
  }

  @Test("The name of lists under a reference of an earlier program is refused, and changes nothing")
  func otherKind() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    try Store(at: path, for: Refused.SlashKey.self).close()
    struct Inner: Record {
      var id: Int
      static let collectionName = "A.inner"
      static let schema = Schema<Inner> { ManyToMany(Inner.self, named: "peers") }
    }
    for isReadOnly in [false, true] {
      var options = Store.Options()
      options.isReadOnly = isReadOnly
      let error = caught { try Store(at: path, for: Inner.self, options: options).close() }
      #expect(error?.code == .schemaMismatch)
      #expect(error?.context.field == "A.inner/A.inner/peers")
    }
    try Store(at: path, for: Refused.SlashKey.self).close()
  }
}
