module parca_arrow

go 1.22

require github.com/apache/arrow-go/v18 v18.1.0
