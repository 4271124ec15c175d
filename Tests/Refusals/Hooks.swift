import Larch

// Hooks are typed lines of the schema: a near miss does not compile, where a method with another
// signature was never called.

struct WithoutTransaction: Record {
  var id = RecordID<WithoutTransaction>()
  var name = ""

  static let schema = Schema<WithoutTransaction> {
    WillSave { record in record.name = "" }  // error: expects 2 arguments, but 1 was used
  }
}

struct WithoutStored: Record {
  var id = RecordID<WithoutStored>()
  var name = ""

  static let schema = Schema<WithoutStored> {
    WillUpdate { record, tx in record.name = "" }  // error: expects 3 arguments, but 2 were used
  }
}

struct Misspelt: Record {
  var id = RecordID<Misspelt>()
  var name = ""

  static let schema = Schema<Misspelt> {
    WilSave { record, tx in record.name = "" }  // error: cannot find 'WilSave' in scope
  }
}

struct ChangesTooLate: Record {
  var id = RecordID<ChangesTooLate>()
  var name = ""

  static let schema = Schema<ChangesTooLate> {
    DidSave { record, tx in
      record.name = ""  // error: cannot assign to property
    }
  }
}

struct ThrowsTooLate: Record {
  var id = RecordID<ThrowsTooLate>()
  struct Stop: Error {}

  static let schema = Schema<ThrowsTooLate> {
    DidCommit { record, change in  // error: invalid conversion from throwing function
      throw Stop()
    }
  }
}

// The protocol whose methods were hooks.
struct OldWay: Record, RecordHooks {  // error: cannot find type 'RecordHooks' in scope
  var id = RecordID<OldWay>()
}
