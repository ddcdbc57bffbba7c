// Command demo keeps partner ids and asks both ways: all ids of a partner id, those of the last months, the last one, the
// last date of a pair. It prints what it did and exits with 1 at the first wrong answer.
package main

import (
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

const (
	partners    = 2000
	idsOf       = 12 // of each partner, one a month
	inFlight    = 64
	lastMonths  = 3
	monthsInAll = idsOf
)

var tables = []struct{ name, key, other string }{
	{"ids_by_partnerid", "partnerid", "id"},
	{"partnerids_by_id", "id", "partnerid"},
}

func month(n int) time.Time { return time.Date(2024, time.Month(1+n), 1, 0, 0, 0, 0, time.UTC) }

func partner(n int) string { return fmt.Sprintf("partner-%d", n) }

// Every id belongs to one partner, and the i-th id of partner n was seen in month i.
func id(n, i int) string { return fmt.Sprintf("id-%d-%d", n, i) }

func main() {
	host, port, _ := strings.Cut(os.Getenv("HELENUS_ADDRESS"), ":")
	cluster := gocql.NewCluster(host)
	cluster.Port, _ = strconv.Atoi(port)
	cluster.Timeout = 30 * time.Second
	cluster.Consistency = gocql.LocalQuorum
	session, err := cluster.CreateSession()
	if err != nil {
		log.Fatal("connecting: ", err)
	}
	defer session.Close()
	for _, table := range tables {
		statement := fmt.Sprintf("CREATE TABLE IF NOT EXISTS demo.%s (%s text, %s text, date timestamp, PRIMARY KEY ((%s), date, %s)) "+
			"WITH CLUSTERING ORDER BY (date DESC)", table.name, table.key, table.other, table.key, table.other)
		if err := session.Query(statement).Exec(); err != nil {
			log.Fatal("creating ", table.name, ": ", err)
		}
	}
	load(session)
	began := time.Now()
	for n := 0; n < partners; n += 7 {
		askPartner(session, n)
		askID(session, n)
	}
	fmt.Printf("questions answered both ways in %.2f s\n", time.Since(began).Seconds())
}

func load(session *gocql.Session) {
	began := time.Now()
	var group sync.WaitGroup
	slots := make(chan struct{}, inFlight)
	for n := 0; n < partners; n++ {
		for i := 0; i < idsOf; i++ {
			slots <- struct{}{}
			group.Add(1)
			go func() {
				defer func() { <-slots; group.Done() }()
				for _, table := range tables {
					values := map[string]string{"partnerid": partner(n), "id": id(n, i)}
					statement := fmt.Sprintf("INSERT INTO demo.%s (%s, %s, date) VALUES (?, ?, ?)", table.name, table.key, table.other)
					if err := session.Query(statement, values[table.key], values[table.other], month(i)).Exec(); err != nil {
						log.Fatal("inserting: ", err)
					}
				}
			}()
		}
	}
	group.Wait()
	rows := 2 * partners * idsOf
	fmt.Printf("%d rows in two tables, %.0f rows/s\n", rows, float64(rows)/time.Since(began).Seconds())
}

func askPartner(session *gocql.Session, n int) {
	all := texts(session, "SELECT id FROM demo.ids_by_partnerid WHERE partnerid = ?", partner(n))
	expect(len(all) == idsOf && all[0] == id(n, idsOf-1), "all ids of a partner, newest first: %v", all)
	recent := texts(session, "SELECT id FROM demo.ids_by_partnerid WHERE partnerid = ? AND date >= ?", partner(n),
		month(monthsInAll-lastMonths))
	expect(len(recent) == lastMonths, "ids of the last months: %v", recent)
	var last string
	var date time.Time
	err := session.Query("SELECT id, date FROM demo.ids_by_partnerid WHERE partnerid = ? LIMIT 1", partner(n)).Scan(&last, &date)
	expect(err == nil && last == id(n, idsOf-1) && date.Equal(month(idsOf-1)), "the last id and its date: %v %v %v", last, date, err)
	err = session.Query("SELECT max(date) FROM demo.ids_by_partnerid WHERE partnerid = ? AND id = ? ALLOW FILTERING", partner(n),
		id(n, 4)).Scan(&date)
	expect(err == nil && date.Equal(month(4)), "the last date of a pair: %v %v", date, err)
}

func askID(session *gocql.Session, n int) {
	for i := 0; i < idsOf; i += 5 {
		found := texts(session, "SELECT partnerid FROM demo.partnerids_by_id WHERE id = ?", id(n, i))
		expect(len(found) == 1 && found[0] == partner(n), "the partner of an id: %v", found)
	}
}

func texts(session *gocql.Session, statement string, values ...any) []string {
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

func expect(holds bool, format string, values ...any) {
	if !holds {
		log.Fatalf("wrong answer: "+format, values...)
	}
}
