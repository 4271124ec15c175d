import CEngines
import Workload

/// Workload records as the C structs that both C peers take.
final class NativePeople {
  private(set) var people: [bench_person] = []

  init(_ records: [WorkloadPerson]) {
    people.reserveCapacity(records.count)
    for record in records {
      var person = bench_person()
      person.id = record.id
      person.age = Int64(record.age)
      person.company_id = record.companyID
      person.score = record.score
      person.created_at = record.createdAt
      person.active = record.active
      (person.name, person.name_length) = copyBytes(record.name)
      (person.email, person.email_length) = copyBytes(record.email)
      (person.city, person.city_length) = copyBytes(record.city)
      people.append(person)
    }
  }

  deinit {
    for person in people {
      person.name.deallocate()
      person.email.deallocate()
      person.city.deallocate()
    }
  }
}

/// Texts of queries in the form that both C peers take.
final class NativeTexts {
  private(set) var texts: [bench_text] = []

  init(_ strings: [String]) {
    texts = strings.map { string in
      let (bytes, length) = copyBytes(string)
      return bench_text(bytes: bytes, length: length)
    }
  }

  deinit {
    for text in texts { text.bytes.deallocate() }
  }

  /// Lends the text for one call.
  static func with<T>(_ string: String, _ body: (bench_text) throws -> T) rethrows -> T {
    try string.withCString { try body(bench_text(bytes: $0, length: UInt32(string.utf8.count))) }
  }
}

extension Link {
  var native: bench_link { bench_link(student: student, course: course) }
}

private func copyBytes(_ string: String) -> (UnsafeMutablePointer<CChar>, UInt32) {
  let bytes = UnsafeMutablePointer<CChar>.allocate(capacity: string.utf8.count)
  for (index, byte) in string.utf8.enumerated() { bytes[index] = CChar(bitPattern: byte) }
  return (bytes, UInt32(string.utf8.count))
}
