# An image with cpor and Go, which cpor test needs:
#
#	docker build -t cpor .
#	docker run --rm -v "$PWD:/src" -w /src cpor test ./...
FROM golang:1.26 AS build
WORKDIR /cpor
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X $(go list -m)/internal/version.release=$VERSION" \
	-o /out/ ./cmd/...

FROM golang:1.26
COPY --from=build /out/ /usr/local/bin/
ENTRYPOINT ["cpor"]
