-- Header and line have 1025 bytes each, 1021 rows 1024, the last 1009, the count 13.
with recursive series(n) as (select 1 union all select n + 1 from series where n < 1022)
select substr(hex(zeroblob(511)), 1, iif(n < 1022, 1022, 1007)) as line from series;
