import LarchTestSupport

@testable import Larch

/// How many related records there are, compared with a number.
extension RandomRelatedFilters {
  private mutating func compared<R: Record>(
    _ count: RelatedCount<R>, _ wanted: @escaping (R) -> Int, _ name: String
  ) -> RelatedSample<R> {
    let number = below(6) - 1
    func sample(_ filter: Filter<R>, _ text: String, _ matches: @escaping (Int) -> Bool)
      -> RelatedSample<R>
    {
      RelatedSample(filter: filter, matches: { matches(wanted($0)) }, text: name + text)
    }
    switch below(9) {
    case 0: return sample(count == number, " == \(number)") { $0 == number }
    case 1: return sample(count != number, " != \(number)") { $0 != number }
    case 2: return sample(count < number, " < \(number)") { $0 < number }
    case 3: return sample(number >= count, " <= \(number)") { $0 <= number }
    case 4: return sample(number < count, " > \(number)") { $0 > number }
    case 5: return sample(count >= number, " >= \(number)") { $0 >= number }
    case 6:
      return sample((number...4).contains(count), " in \(number)...4") { (number...4).contains($0) }
    case 7: return sample((1..<3).contains(count), " in 1..<3") { (1..<3).contains($0) }
    default: return sample((...number).contains(count), " in ...\(number)") { $0 <= number }
    }
  }

  mutating func companyCount() -> RelatedSample<Graph.Company> {
    let world = world
    if below(3) == 0 {
      return compared(
        Fields<Graph.Company>().parent.people.count,
        { company in
          world.companies.contains { $0.id == company.parentID }
            ? world.people.count { $0.companyID == company.parentID } : 0
        }, "parent.people.count")
    }
    return compared(
      Fields<Graph.Company>().people.count,
      { company in world.people.count { $0.companyID == company.id } }, "people.count")
  }

  mutating func personCount() -> RelatedSample<Graph.Person> {
    let world = world
    switch below(3) {
    case 0:
      return compared(
        Fields<Graph.Person>().tags.count,
        { person in world.tags.count { person.tagIDs.contains($0.id) } }, "tags.count")
    case 1:
      return compared(
        Fields<Graph.Person>().projects.count,
        { person in world.projects.count { world.members[$0.id]?.contains(person.id) ?? false } },
        "projects.count")
    default:
      return compared(
        Fields<Graph.Person>().categories.count,
        { person in
          world.categories.count { category in
            world.ratings.contains { $0.personID == person.id && $0.categoryID == category.id }
          }
        }, "categories.count")
    }
  }

  mutating func projectCount() -> RelatedSample<Graph.Project> {
    let world = world
    return compared(
      Fields<Graph.Project>().members.count, { world.members[$0.id]?.count ?? 0 }, "members.count")
  }

  mutating func tagCount() -> RelatedSample<Graph.Tag> {
    let world = world
    return compared(
      Fields<Graph.Tag>().people.count,
      { tag in world.people.count { $0.tagIDs.contains(tag.id) } }, "people.count")
  }

  mutating func categoryCount() -> RelatedSample<Graph.Category> {
    let world = world
    if below(2) == 0 {
      return compared(
        Fields<Graph.Category>().children.count,
        { category in world.categories.count { $0.parentID == category.id } }, "children.count")
    }
    return compared(
      Fields<Graph.Category>().people.count,
      { category in
        world.people.count { person in
          world.ratings.contains { $0.personID == person.id && $0.categoryID == category.id }
        }
      }, "people.count")
  }
}
