import Foundation
import LarchTestSupport

@testable import Larch

/// A filter, and the closure over arrays that it must equal.
struct RelatedSample<R: Record> {
  var filter: Filter<R>
  var matches: (R) -> Bool
  var text: String
}

extension RelatedSample {
  static func && (left: Self, right: Self) -> Self {
    Self(
      filter: left.filter && right.filter, matches: { left.matches($0) && right.matches($0) },
      text: "(\(left.text) && \(right.text))")
  }

  static func || (left: Self, right: Self) -> Self {
    Self(
      filter: left.filter || right.filter, matches: { left.matches($0) || right.matches($0) },
      text: "(\(left.text) || \(right.text))")
  }

  static prefix func ! (sample: Self) -> Self {
    Self(filter: !sample.filter, matches: { !sample.matches($0) }, text: "!\(sample.text)")
  }
}

/// Makes random filters over the records of a graph.
struct RandomRelatedFilters<K: FilterGraphKind> {
  typealias Graph = FilterGraph<K>

  let world: Graph.World
  var random: SeededGenerator

  mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  /// - Parameters:
  ///   - depth: so many associations lie one in the other at most.
  ///   - related: of the type, by number.
  private mutating func combined<R: Record>(
    _ depth: Int, plain: (inout Self) -> RelatedSample<R>,
    related: (inout Self, Int) -> RelatedSample<R>
  ) -> RelatedSample<R> {
    func leaf(_ maker: inout Self) -> RelatedSample<R> {
      depth > 0 && maker.below(3) > 0 ? related(&maker, depth - 1) : plain(&maker)
    }
    switch below(9) {
    case 0, 1: return leaf(&self) && leaf(&self)
    case 2: return leaf(&self) || leaf(&self)
    case 3: return !leaf(&self)
    case 4: return leaf(&self) && (leaf(&self) || leaf(&self))
    case 5: return !(leaf(&self) && leaf(&self)) && leaf(&self)
    default: return leaf(&self)
    }
  }

  mutating func name() -> String { ["Acme", "Bolt", "acme", "Zoë", "none"][below(5)] }

  // MARK: Types

  mutating func company(_ depth: Int) -> RelatedSample<Graph.Company> {
    let world = world
    return combined(depth) { maker in
      let size = maker.below(6)
      let name = maker.name()
      switch maker.below(5) {
      case 0:
        return RelatedSample(
          filter: Fields().size > size, matches: { $0.size > size }, text: "size > \(size)")
      case 1:
        return RelatedSample(
          filter: Fields().name == name, matches: { $0.name == name }, text: "name == \(name)")
      case 2:
        let id = RecordID<Graph.Company>(Int64(maker.below(world.companies.count + 2)))
        return RelatedSample(
          filter: Fields().id == id, matches: { $0.id == id }, text: "id == \(id)")
      case 3:
        return RelatedSample(
          filter: Fields().satisfies { $0.name.count > size }, matches: { $0.name.count > size },
          text: "{ name.count > \(size) }")
      default:
        return RelatedSample(
          filter: Fields().size == size, matches: { $0.size == size }, text: "size == \(size)")
      }
    } related: { maker, depth in
      switch maker.below(8) {
      case 6, 7: return maker.companyCount()
      case 0, 1:
        let inner = maker.person(depth)
        return RelatedSample(
          filter: Fields().people.contains { _ in inner.filter },
          matches: { company in
            world.people.contains { $0.companyID == company.id && inner.matches($0) }
          }, text: "people{\(inner.text)}")
      case 2:
        let inner = maker.company(depth)
        return RelatedSample(
          filter: Fields().branches.contains { _ in inner.filter },
          matches: { company in
            world.companies.contains { $0.parentID == company.id && inner.matches($0) }
          }, text: "branches{\(inner.text)}")
      case 3:
        let inner = maker.company(depth)
        return RelatedSample(
          filter: Fields().parent.matches { _ in inner.filter },
          matches: { company in
            world.companies.contains { $0.id == company.parentID && inner.matches($0) }
          }, text: "parent{\(inner.text)}")
      case 4:
        let id = RecordID<Graph.Person>(Int64(maker.below(world.people.count + 2)))
        return RelatedSample(
          filter: Fields().people.contains(id),
          matches: { company in
            world.people.contains { $0.companyID == company.id && $0.id == id }
          }, text: "people[\(id)]")
      default:
        return RelatedSample(
          filter: Fields().related(\Graph.Person.companyID).isEmpty,
          matches: { company in !world.people.contains { $0.companyID == company.id } },
          text: "people.isEmpty")
      }
    }
  }

  mutating func person(_ depth: Int) -> RelatedSample<Graph.Person> {
    let world = world
    return combined(depth) { maker in
      let age = maker.below(9)
      let name = maker.name()
      switch maker.below(5) {
      case 0:
        return RelatedSample(
          filter: Fields().age >= age, matches: { $0.age >= age }, text: "age >= \(age)")
      case 1:
        return RelatedSample(
          filter: Fields().name == name, matches: { $0.name == name }, text: "name == \(name)")
      case 2:
        return RelatedSample(
          filter: Fields().nickname != name, matches: { $0.nickname != name },
          text: "nickname != \(name)")
      case 3:
        let id = RecordID<Graph.Company>(Int64(maker.below(world.companies.count + 2)))
        return RelatedSample(
          filter: Fields().companyID == id, matches: { $0.companyID == id },
          text: "companyID == \(id)")
      default:
        return RelatedSample(
          filter: Fields().age == age, matches: { $0.age == age }, text: "age == \(age)")
      }
    } related: { maker, depth in
      maker.relatedPerson(depth)
    }
  }

  private mutating func relatedPerson(_ depth: Int) -> RelatedSample<Graph.Person> {
    let world = world
    switch below(15) {
    case 9, 10, 11, 12: return companyField()
    case 13, 14: return personCount()
    case 0, 1:
      let inner = company(depth)
      return RelatedSample(
        filter: Fields().company.matches { _ in inner.filter },
        matches: { person in
          world.companies.contains { $0.id == person.companyID && inner.matches($0) }
        }, text: "company{\(inner.text)}")
    case 2:
      let inner = tag(depth)
      return RelatedSample(
        filter: Fields().tags.contains { _ in inner.filter },
        matches: { person in
          world.tags.contains { person.tagIDs.contains($0.id) && inner.matches($0) }
        }, text: "tags{\(inner.text)}")
    case 3:
      let inner = project(depth)
      return RelatedSample(
        filter: Fields().projects.contains { _ in inner.filter },
        matches: { person in
          world.projects.contains {
            world.members[$0.id]?.contains(person.id) ?? false && inner.matches($0)
          }
        }, text: "projects{\(inner.text)}")
    case 4:
      let inner = category(depth)
      return RelatedSample(
        filter: Fields().categories.contains { _ in inner.filter },
        matches: { person in
          world.ratings.contains { rating in
            rating.personID == person.id
              && world.categories.contains { $0.id == rating.categoryID && inner.matches($0) }
          }
        }, text: "categories{\(inner.text)}")
    case 5:
      let score = [0.0, 1.5, 9][below(3)]
      return RelatedSample(
        filter: Fields().profile.matches { $0.score >= score },
        matches: { person in
          world.profiles.contains { $0.personID == person.id && $0.score >= score }
        }, text: "profile{score >= \(score)}")
    case 6:
      let id = world.projects.isEmpty ? UUID() : world.projects[below(world.projects.count)].id
      return RelatedSample(
        filter: Fields().projects.contains(id),
        matches: { world.members[id]?.contains($0.id) ?? false }, text: "projects[\(id)]")
    case 7:
      return RelatedSample(
        filter: Fields().company == nil,
        matches: { person in !world.companies.contains { $0.id == person.companyID } },
        text: "company == nil")
    default:
      return RelatedSample(
        filter: Fields().tags.isEmpty,
        matches: { person in !world.tags.contains { person.tagIDs.contains($0.id) } },
        text: "tags.isEmpty")
    }
  }

  mutating func project(_ depth: Int) -> RelatedSample<Graph.Project> {
    let world = world
    return combined(depth) { maker in
      let budget = Int32(maker.below(5))
      let name = maker.name()
      switch maker.below(4) {
      case 0:
        return RelatedSample(
          filter: Fields().budget < budget, matches: { $0.budget.map { $0 < budget } ?? false },
          text: "budget < \(budget)")
      case 1:
        return RelatedSample(
          filter: Fields().budget == nil, matches: { $0.budget == nil }, text: "budget == nil")
      case 2:
        let id =
          world.projects.isEmpty
          ? UUID() : world.projects[maker.below(world.projects.count)].id
        return RelatedSample(
          filter: Fields().id == id, matches: { $0.id == id }, text: "id == \(id)")
      default:
        return RelatedSample(
          filter: Fields().title == name, matches: { $0.title == name }, text: "title == \(name)")
      }
    } related: { maker, depth in
      if maker.below(4) == 0 { return maker.projectCount() }
      if maker.below(4) == 0 {
        return RelatedSample(
          filter: Fields().members.isEmpty, matches: { world.members[$0.id]?.isEmpty ?? true },
          text: "members.isEmpty")
      }
      let inner = maker.person(depth)
      return RelatedSample(
        filter: Fields().members.contains { _ in inner.filter },
        matches: { project in
          world.people.contains {
            world.members[project.id]?.contains($0.id) ?? false && inner.matches($0)
          }
        }, text: "members{\(inner.text)}")
    }
  }

  mutating func tag(_ depth: Int) -> RelatedSample<Graph.Tag> {
    let world = world
    return combined(depth) { maker in
      let weight = maker.below(5)
      switch maker.below(3) {
      case 0:
        return RelatedSample(
          filter: Fields().weight <= weight, matches: { $0.weight <= weight },
          text: "weight <= \(weight)")
      case 1:
        let id = world.tags.isEmpty ? "" : world.tags[maker.below(world.tags.count)].id
        return RelatedSample(
          filter: Fields().id == id, matches: { $0.id == id }, text: "id == \(id.prefix(5))")
      default:
        return RelatedSample(
          filter: Fields().id.hasPrefix("é"), matches: { $0.id.hasPrefix("é") },
          text: "id.hasPrefix(é)")
      }
    } related: { maker, depth in
      if maker.below(4) == 0 { return maker.tagCount() }
      if maker.below(4) == 0 {
        return RelatedSample(
          filter: Fields().people.isEmpty,
          matches: { tag in !world.people.contains { $0.tagIDs.contains(tag.id) } },
          text: "people.isEmpty")
      }
      let inner = maker.person(depth)
      return RelatedSample(
        filter: Fields().people.contains { _ in inner.filter },
        matches: { tag in
          world.people.contains { $0.tagIDs.contains(tag.id) && inner.matches($0) }
        }, text: "people{\(inner.text)}")
    }
  }

  mutating func category(_ depth: Int) -> RelatedSample<Graph.Category> {
    let world = world
    return combined(depth) { maker in
      let name = maker.name()
      switch maker.below(3) {
      case 0:
        return RelatedSample(
          filter: Fields().label.equals(name, options: .caseInsensitive),
          matches: { $0.label.lowercased() == name.lowercased() }, text: "label ~ \(name)")
      case 1:
        return RelatedSample(
          filter: Fields().parentID == nil, matches: { $0.parentID == nil },
          text: "parentID == nil")
      default:
        let id = Int16(maker.below(30) - 10)
        return RelatedSample(
          filter: Fields().id > id, matches: { $0.id > id }, text: "id > \(id)")
      }
    } related: { maker, depth in
      switch maker.below(7) {
      case 5, 6: return maker.categoryCount()
      case 0:
        let inner = maker.person(depth)
        return RelatedSample(
          filter: Fields().people.contains { _ in inner.filter },
          matches: { category in
            world.ratings.contains { rating in
              rating.categoryID == category.id
                && world.people.contains { $0.id == rating.personID && inner.matches($0) }
            }
          }, text: "people{\(inner.text)}")
      case 1, 2:
        let inner = maker.category(depth)
        return RelatedSample(
          filter: Fields().children.contains { _ in inner.filter },
          matches: { category in
            world.categories.contains { $0.parentID == category.id && inner.matches($0) }
          }, text: "children{\(inner.text)}")
      case 3:
        let stars = maker.below(6)
        return RelatedSample(
          filter: Fields().ratings.contains { $0.stars >= stars },
          matches: { category in
            world.ratings.contains { $0.categoryID == category.id && $0.stars >= stars }
          }, text: "ratings{stars >= \(stars)}")
      default:
        let inner = maker.category(depth)
        return RelatedSample(
          filter: Fields().parent.matches { _ in inner.filter },
          matches: { category in
            world.categories.contains { $0.id == category.parentID && inner.matches($0) }
          }, text: "parent{\(inner.text)}")
      }
    }
  }
}
