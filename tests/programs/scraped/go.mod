module scraped

go 1.19
