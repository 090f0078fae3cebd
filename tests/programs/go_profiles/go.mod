module go_profiles

go 1.19
