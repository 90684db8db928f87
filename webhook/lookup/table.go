package lookup

import (
	"cmp"
	"hash/maphash"
	"iter"
	"slices"
	"sort"
	"strings"
)

// shardCount is how finely a table is cut: a change copies one shard, about
// 400 of 100,000 pointers, and the array of shards.
const shardCount = 256

// group is what a table is asked for: up to three strings, compared as a whole.
type group [3]string

// slot is the place of a value in a table: values of one group stand side by
// side, sorted by name. A table of unique objects has groups of one value.
type slot struct {
	group group
	name  string
}

func (s slot) compare(t slot) int {
	for i := range s.group {
		if c := strings.Compare(s.group[i], t.group[i]); c != 0 {
			return c
		}
	}
	return strings.Compare(s.name, t.name)
}

// table is an immutable index of values that know their own slot. With and
// without return a changed copy that shares every shard but one. The zero
// table has no slot function and can't be used.
type table[V any] struct {
	slot   func(*V) slot
	seed   maphash.Seed
	shards *[shardCount]shard[V]
}

// shard holds values in the order of their groups' hashes, then of their
// slots. The hashes stand apart, so that a search touches no other value.
type shard[V any] struct {
	hashes []uint64
	values []*V
}

func newTable[V any](slotOf func(*V) slot) table[V] {
	return table[V]{slot: slotOf, seed: maphash.MakeSeed(), shards: new([shardCount]shard[V])}
}

// hash says where a group stands: its remainder is the number of the shard.
func (t table[V]) hash(g group) uint64 {
	h := maphash.String(t.seed, g[0])
	for _, s := range g[1:] {
		if s != "" {
			h = h*31 + maphash.String(t.seed, s)
		}
	}
	return h
}

// search gives the place of a slot in its shard, and whether a value is there.
func (t table[V]) search(in shard[V], hash uint64, want slot) (int, bool) {
	at := sort.Search(len(in.hashes), func(i int) bool {
		if in.hashes[i] != hash {
			return in.hashes[i] > hash
		}
		return t.slot(in.values[i]).compare(want) >= 0
	})
	return at, at < len(in.values) && in.hashes[at] == hash && t.slot(in.values[at]) == want
}

// find gives the values of a group, sorted by name. It is a window on the
// table: nobody may write to it, and appending to it copies.
func (t table[V]) find(g group) []*V {
	h := t.hash(g)
	in := t.shards[h%shardCount]
	from, _ := t.search(in, h, slot{group: g})
	to := from
	for to < len(in.values) && in.hashes[to] == h && t.slot(in.values[to]).group == g {
		to++
	}
	if from == to {
		return nil
	}
	return in.values[from:to:to]
}

// get gives the one value of a group whose values have no name, or nil.
func (t table[V]) get(g group) *V {
	h := t.hash(g)
	in := t.shards[h%shardCount]
	if at, found := t.search(in, h, slot{group: g}); found {
		return in.values[at]
	}
	return nil
}

// with gives a table in which v stands in its slot, alone.
func (t table[V]) with(v *V) table[V] {
	want := t.slot(v)
	h := t.hash(want.group)
	old := t.shards[h%shardCount]
	at, found := t.search(old, h, want)
	after := at
	if found {
		after++
	}
	return t.replaced(h, shard[V]{
		hashes: slices.Concat(old.hashes[:at], []uint64{h}, old.hashes[after:]),
		values: slices.Concat(old.values[:at], []*V{v}, old.values[after:]),
	})
}

// without gives a table whose slot of v is empty.
func (t table[V]) without(v *V) table[V] {
	want := t.slot(v)
	h := t.hash(want.group)
	old := t.shards[h%shardCount]
	at, found := t.search(old, h, want)
	if !found {
		return t
	}
	return t.replaced(h, shard[V]{
		hashes: slices.Concat(old.hashes[:at], old.hashes[at+1:]),
		values: slices.Concat(old.values[:at], old.values[at+1:]),
	})
}

func (t table[V]) replaced(hash uint64, by shard[V]) table[V] {
	shards := *t.shards
	shards[hash%shardCount] = by
	t.shards = &shards
	return t
}

// entry is a value on its way into a new table.
type entry[V any] struct {
	hash  uint64
	value *V
}

// of gives a table of the same kind that holds exactly these values; of those
// in one slot, the last.
func (t table[V]) of(values []*V) table[V] {
	var cut [shardCount][]entry[V]
	for _, v := range slices.Backward(values) {
		h := t.hash(t.slot(v).group)
		cut[h%shardCount] = append(cut[h%shardCount], entry[V]{h, v})
	}
	t.shards = new([shardCount]shard[V])
	for n, entries := range cut {
		slices.SortStableFunc(entries, t.order)
		entries = slices.CompactFunc(entries, func(a, b entry[V]) bool { return t.order(a, b) == 0 })
		if len(entries) == 0 {
			continue
		}
		in := shard[V]{hashes: make([]uint64, len(entries)), values: make([]*V, len(entries))}
		for i, e := range entries {
			in.hashes[i], in.values[i] = e.hash, e.value
		}
		t.shards[n] = in
	}
	return t
}

func (t table[V]) order(a, b entry[V]) int {
	if c := cmp.Compare(a.hash, b.hash); c != 0 {
		return c
	}
	return t.slot(a.value).compare(t.slot(b.value))
}

// all gives every value, in no order.
func (t table[V]) all() iter.Seq[*V] {
	return func(yield func(*V) bool) {
		for i := range t.shards {
			for _, v := range t.shards[i].values {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// len is the number of values.
func (t table[V]) len() int {
	n := 0
	for i := range t.shards {
		n += len(t.shards[i].values)
	}
	return n
}
