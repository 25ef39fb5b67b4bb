-- Header and line have 1025 bytes each, 1021 rows 1024, the last 1009, the count 13.
select repeat('x', case when n < 1022 then 1022 else 1007 end) as line from generate_series(1, 1022) as n;
