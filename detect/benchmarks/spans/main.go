// Command spans writes the trace of a shop as OpenTelemetry's collector and as
// Jaeger would: clients order from one of several shop processes, which reserve
// the goods in a warehouse and, some time later, tell a mailer. It makes the
// traces that package detect is tried on:
//
//	go run ./detect/benchmarks/spans -otlp run.otlp.json -jaeger run.jaeger.json
//	cpor detect -poss 'exists i < j: i.open.reserve > 0 && j.open.reserve > 0' run.otlp.json
//
// With -skew, the processes' clocks differ, as they do.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"strconv"
)

func main() {
	var cfg config
	flag.IntVar(&cfg.orders, "orders", 5, "number of orders")
	flag.IntVar(&cfg.shops, "shops", 2, "number of shop processes")
	flag.Int64Var(&cfg.skew, "skew", 50_000,
		"the largest difference of two clocks, in microseconds")
	flag.Uint64Var(&cfg.seed, "seed", 1, "of the random numbers")
	otlp := flag.String("otlp", "", "write OTLP as JSON to `FILE`")
	jaeger := flag.String("jaeger", "", "write Jaeger's JSON to `FILE`")
	flag.Parse()
	spans := simulate(cfg)
	for path, write := range map[string]func(io.Writer, []span) error{*otlp: writeOTLP,
		*jaeger: writeJaeger} {
		if path == "" {
			continue
		}
		file, err := os.Create(path)
		if err != nil {
			log.Fatal(err)
		}
		if err := write(file, spans); err != nil {
			log.Fatal(err)
		}
		if err := file.Close(); err != nil {
			log.Fatal(err)
		}
	}
}

type config struct {
	orders, shops int
	skew          int64
	seed          uint64
}

// span has times in microseconds, by the clock of its process.
type span struct {
	trace, id, parent, link string
	service, instance       string
	name                    string
	start, end              int64
	order                   int
}

// simulate lets the orders happen at random times.
func simulate(cfg config) []span {
	rng := rand.New(rand.NewPCG(cfg.seed, 1))
	skews := map[string]int64{}
	var out []span
	add := func(s span) span {
		key := s.service + s.instance
		if _, ok := skews[key]; !ok {
			skews[key] = rng.Int64N(cfg.skew + 1)
		}
		s.start += skews[key]
		s.end += skews[key]
		s.id = fmt.Sprintf("%016x", len(out)+1)
		out = append(out, s)
		return s
	}
	const epoch = 1_700_000_000_000_000
	for k := range cfg.orders {
		t := epoch + rng.Int64N(int64(cfg.orders)*2000)
		trace := fmt.Sprintf("%032x", k+1)
		shop := strconv.Itoa(rng.IntN(cfg.shops) + 1)
		client := add(span{trace: trace, service: "client", name: "order", start: t, end: t + 9000,
			order: k})
		in := add(span{trace: trace, parent: client.id, service: "shop", instance: shop,
			name: "order", start: t + 500, end: t + 8000, order: k})
		add(span{trace: trace, parent: in.id, service: "warehouse", name: "reserve",
			start: t + 1000, end: t + 3000 + rng.Int64N(4000), order: k})
		late := t + 9000 + rng.Int64N(5000)
		add(span{trace: fmt.Sprintf("%032x", cfg.orders+k+1), link: trace + ":" + in.id,
			service: "mailer", name: "mail", start: late, end: late + 1000, order: k})
	}
	return out
}

func writeOTLP(w io.Writer, spans []span) error {
	type object = map[string]any
	attribute := func(key, value string) object {
		return object{"key": key, "value": object{"stringValue": value}}
	}
	enc := json.NewEncoder(w)
	for _, s := range spans { // one line each, as the collector may export them
		x := object{
			"traceId": s.trace, "spanId": s.id, "name": s.name, "kind": 1,
			"startTimeUnixNano": strconv.FormatInt(s.start*1000, 10),
			"endTimeUnixNano":   strconv.FormatInt(s.end*1000, 10),
			"attributes": []object{
				{"key": "order", "value": object{"intValue": strconv.Itoa(s.order)}}},
		}
		if s.parent != "" {
			x["parentSpanId"] = s.parent
		}
		if s.link != "" {
			x["links"] = []object{{"traceId": s.link[:32], "spanId": s.link[33:]}}
		}
		resource := []object{attribute("service.name", s.service)}
		if s.instance != "" {
			resource = append(resource, attribute("service.instance.id", s.instance))
		}
		err := enc.Encode(
			object{"resourceSpans": []object{{"resource": object{"attributes": resource},
				"scopeSpans": []object{{"spans": []object{x}}}}}})
		if err != nil {
			return err
		}
	}
	return nil
}

func writeJaeger(w io.Writer, spans []span) error {
	type object = map[string]any
	var data []object
	at := map[string]int{}
	for _, s := range spans {
		x := object{"traceID": s.trace, "spanID": s.id, "operationName": s.name,
			"startTime": s.start, "duration": s.end - s.start,
			"tags":      []object{{"key": "order", "type": "int64", "value": s.order}},
			"processID": s.service + s.instance, "logs": []object{}}
		switch {
		case s.parent != "":
			x["references"] = []object{{"refType": "CHILD_OF", "traceID": s.trace,
				"spanID": s.parent}}
		case s.link != "":
			x["references"] = []object{{"refType": "FOLLOWS_FROM", "traceID": s.link[:32],
				"spanID": s.link[33:]}}
		}
		k, ok := at[s.trace]
		if !ok {
			k = len(data)
			at[s.trace] = k
			data = append(
				data,
				object{"traceID": s.trace, "spans": []object{}, "processes": object{}},
			)
		}
		data[k]["spans"] = append(data[k]["spans"].([]object), x)
		tags := []object{}
		if s.instance != "" {
			tags = append(tags, object{"key": "service.instance.id", "type": "string",
				"value": s.instance})
		}
		data[k]["processes"].(object)[s.service+s.instance] = object{"serviceName": s.service,
			"tags": tags}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(object{"data": data})
}
