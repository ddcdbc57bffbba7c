// Command demo matches partner ids with ids and asks both ways: all that a partner id is matched with, those of the last
// months, the last one and its date, the last date of a given pair. It knows the answers and exits with 1 at the first
// wrong one.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

const (
	matchesOfPartner = 12
	months           = 24
	lastMonths       = 6
	inFlight         = 128
	askedEvery       = 5 // One key of so many.
)

// A match says that a partner's id and an own one were seen together.
type match struct {
	partnerID, id string
	date          time.Time
}

// A direction is one of the two tables: what is looked up, and what is found.
type direction struct {
	table, key, found string
	keyOf, foundOf    func(match) string
}

var directions = []direction{
	{"ids_by_partnerid", "partnerid", "id", func(m match) string { return m.partnerID }, func(m match) string { return m.id }},
	{"partnerids_by_id", "id", "partnerid", func(m match) string { return m.id }, func(m match) string { return m.partnerID }},
}

func month(n int) time.Time { return time.Date(2024, time.Month(1+n), 1, 0, 0, 0, 0, time.UTC) }

// matches pairs every partner id with ids that it shares with others. A pair may be seen in several months.
func matches(partners int) []match {
	var all []match
	for n := range partners {
		for i := range matchesOfPartner {
			id := (n*3 + i/2*i) % partners
			all = append(all, match{fmt.Sprintf("partner-%d", n), fmt.Sprintf("id-%d", id), month((n*5 + i*7) % months)})
		}
	}
	return all
}

func main() {
	address := flag.String("address", "127.0.0.1:9042", "of the node")
	partners := flag.Int("partners", 20_000, "how many partner ids")
	flag.Parse()
	session := connect(*address)
	defer session.Close()
	all := matches(*partners)
	for _, way := range directions {
		statement := fmt.Sprintf("CREATE TABLE demo.%s (%s text, %s text, date timestamp, PRIMARY KEY ((%s), date, %s)) "+
			"WITH CLUSTERING ORDER BY (date DESC)", way.table, way.key, way.found, way.key, way.found)
		if err := session.Query(statement).Exec(); err != nil {
			log.Fatal("creating ", way.table, ": ", err)
		}
	}
	load(session, all)
	for _, way := range directions {
		ask(session, way, all)
	}
}

func connect(address string) *gocql.Session {
	host, port, _ := strings.Cut(address, ":")
	cluster := gocql.NewCluster(host)
	number, err := strconv.Atoi(port)
	if err != nil {
		log.Fatal("-address: ", err)
	}
	cluster.Port = number
	cluster.Timeout = 30 * time.Second
	cluster.Consistency = gocql.LocalQuorum
	session, err := cluster.CreateSession()
	if err != nil {
		log.Fatal("connecting: ", err)
	}
	return session
}

// inParallel calls work for every number below count, so many at a time.
func inParallel(count int, work func(int)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, inFlight)
	for n := range count {
		slots <- struct{}{}
		group.Add(1)
		go func() {
			defer func() { <-slots; group.Done() }()
			work(n)
		}()
	}
	group.Wait()
}

func load(session *gocql.Session, all []match) {
	began := time.Now()
	inParallel(len(all), func(n int) {
		for _, way := range directions {
			statement := fmt.Sprintf("INSERT INTO demo.%s (%s, %s, date) VALUES (?, ?, ?)", way.table, way.key, way.found)
			if err := session.Query(statement, way.keyOf(all[n]), way.foundOf(all[n]), all[n].date).Exec(); err != nil {
				log.Fatal("inserting: ", err)
			}
		}
	})
	rows := 2 * len(all)
	fmt.Printf("figure rows written: %d, %.0f rows/s\n", rows, float64(rows)/time.Since(began).Seconds())
}

func ask(session *gocql.Session, way direction, all []match) {
	expected := map[string][]match{}
	for _, one := range all {
		expected[way.keyOf(one)] = append(expected[way.keyOf(one)], one)
	}
	var keys []string
	for key, found := range expected {
		slices.SortFunc(found, func(a, b match) int {
			return cmp.Or(b.date.Compare(a.date), cmp.Compare(way.foundOf(a), way.foundOf(b)))
		})
		expected[key] = slices.Compact(found)
		keys = append(keys, key)
	}
	slices.Sort(keys)
	began := time.Now()
	asked := len(keys) / askedEvery
	inParallel(asked, func(n int) { askKey(session, way, keys[n*askedEvery], expected[keys[n*askedEvery]]) })
	fmt.Printf("figure %s: %d keys, four questions each, %.0f questions/s\n", way.table, asked,
		4*float64(asked)/time.Since(began).Seconds())
}

// askKey asks the four questions; expected is what the key is matched with, the newest first.
func askKey(session *gocql.Session, way direction, key string, expected []match) {
	texts := func(from []match) []string {
		var found []string
		for _, one := range from {
			found = append(found, way.foundOf(one))
		}
		return found
	}
	same(way, key, "all", texts(expected),
		read(session, fmt.Sprintf("SELECT %s FROM demo.%s WHERE %s = ?", way.found, way.table, way.key), key))
	since := month(months - lastMonths)
	recent := slices.DeleteFunc(slices.Clone(expected), func(one match) bool { return one.date.Before(since) })
	same(way, key, "of the last months", texts(recent),
		read(session, fmt.Sprintf("SELECT %s FROM demo.%s WHERE %s = ? AND date >= ?", way.found, way.table, way.key), key, since))
	var last string
	var date time.Time
	statement := fmt.Sprintf("SELECT %s, date FROM demo.%s WHERE %s = ? LIMIT 1", way.found, way.table, way.key)
	if err := session.Query(statement, key).Scan(&last, &date); err != nil {
		log.Fatal(statement, ": ", err)
	}
	same(way, key, "the last", []string{way.foundOf(expected[0]), expected[0].date.String()}, []string{last, date.UTC().String()})
	// A pair: the oldest match's, whose last date may be another match's.
	pair := way.foundOf(expected[len(expected)-1])
	newest := expected[slices.IndexFunc(expected, func(one match) bool { return way.foundOf(one) == pair })]
	statement = fmt.Sprintf("SELECT max(date) FROM demo.%s WHERE %s = ? AND %s = ? ALLOW FILTERING", way.table, way.key, way.found)
	if err := session.Query(statement, key, pair).Scan(&date); err != nil {
		log.Fatal(statement, ": ", err)
	}
	same(way, key, "the last date of a pair", newest.date.String(), date.UTC().String())
}

func read(session *gocql.Session, statement string, values ...any) []string {
	iter := session.Query(statement, values...).Iter()
	var all []string
	var one string
	for iter.Scan(&one) {
		all = append(all, one)
	}
	if err := iter.Close(); err != nil {
		log.Fatal(statement, ": ", err)
	}
	return all
}

func same(way direction, key, question string, expected, found any) {
	if !reflect.DeepEqual(expected, found) {
		log.Fatalf("%s, %s: %s: expected %v, found %v", way.table, key, question, expected, found)
	}
}
