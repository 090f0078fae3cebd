module parca_layouts

go 1.23

require github.com/apache/arrow-go/v18 v18.4.1
