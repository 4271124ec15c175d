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
      (person.name, person.name_length) = NativePeople.copy(record.name)
      (person.email, person.email_length) = NativePeople.copy(record.email)
      (person.city, person.city_length) = NativePeople.copy(record.city)
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

  private static func copy(_ string: String) -> (UnsafeMutablePointer<CChar>, UInt32) {
    let bytes = UnsafeMutablePointer<CChar>.allocate(capacity: string.utf8.count)
    for (index, byte) in string.utf8.enumerated() { bytes[index] = CChar(bitPattern: byte) }
    return (bytes, UInt32(string.utf8.count))
  }
}
