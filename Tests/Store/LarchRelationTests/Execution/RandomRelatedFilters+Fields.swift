import Foundation

@testable import Larch

extension RandomRelatedFilters {
  /// A field of the company, as Swift has that of an optional.
  mutating func companyField() -> RelatedSample<Graph.Person> {
    let world = world
    func company(_ person: Graph.Person) -> Graph.Company? {
      world.companies.first { $0.id == person.companyID }
    }
    func parent(_ person: Graph.Person) -> Graph.Company? {
      world.companies.first { $0.id == company(person)?.parentID }
    }
    func sample(
      _ filter: Filter<Graph.Person>, _ text: String,
      _ matches: @escaping (Graph.Person) -> Bool
    ) -> RelatedSample<Graph.Person> {
      RelatedSample(filter: filter, matches: matches, text: text)
    }
    let name = name()
    let size = below(6)
    let person = Fields<Graph.Person>()
    switch below(16) {
    case 0:
      return sample(person.company.name == name, "company.name == \(name)") {
        company($0)?.name == name
      }
    case 1:
      return sample(person.company.name != name, "company.name != \(name)") {
        company($0)?.name != name
      }
    case 2:
      return sample(person.company.size > size, "company.size > \(size)") {
        company($0).map { $0.size > size } ?? false
      }
    case 3:
      return sample(person.company.size <= size, "company.size <= \(size)") {
        company($0).map { $0.size <= size } ?? false
      }
    case 4:
      return sample(person.company.name.hasPrefix("A"), "company.name.hasPrefix(A)") {
        company($0)?.name.hasPrefix("A") ?? false
      }
    case 5:
      return sample((1...3).contains(person.company.size), "company.size in 1...3") {
        company($0).map { (1...3).contains($0.size) } ?? false
      }
    case 6:
      return sample([1, nil, 4].contains(person.company.size), "company.size in 1, nil, 4") {
        [1, nil, 4].contains(company($0)?.size)
      }
    case 7:
      return sample(person.company.parentID == nil, "company.parentID == nil") {
        company($0)?.parentID == nil
      }
    case 8:
      return sample(person.company.name.count > size, "company.name.count > \(size)") {
        company($0).map { $0.name.count > size } ?? false
      }
    case 9:
      return sample(person.company.id == RecordID(Int64(size)), "company.id == \(size)") {
        company($0)?.id == RecordID(Int64(size))
      }
    case 10:
      return sample(person.company.parent.name == name, "company.parent.name == \(name)") {
        parent($0)?.name == name
      }
    case 11:
      return sample(person.company.parent.size != size, "company.parent.size != \(size)") {
        parent($0)?.size != size
      }
    case 12:
      return sample(
        person.company.branches.contains { $0.size > size }, "company.branches{size > \(size)}"
      ) { person in
        company(person).map { company in
          world.companies.contains { $0.parentID == company.id && $0.size > size }
        } ?? false
      }
    case 13:
      return sample(person.company.branches.isEmpty, "company.branches.isEmpty") { person in
        company(person).map { company in
          !world.companies.contains { $0.parentID == company.id }
        } ?? true
      }
    case 14:
      return sample(person.company.name == person.company.name, "company.name twice") { _ in true }
    default:
      return sample(
        person.company.name.contains(/[A-B]/) || person.profile.score >= 1.5,
        "company.name has A or B or profile.score >= 1.5"
      ) { person in
        company(person)?.name.contains(/[A-B]/) ?? false
          || world.profiles.contains { $0.personID == person.id && $0.score >= 1.5 }
      }
    }
  }
}
