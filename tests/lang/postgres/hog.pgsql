set work_mem = '2GB';
select count(*) from (select array_agg(repeat(n::text, 1000)) from generate_series(1, 10000000) as n) as hog;
select 'not reached' as result;
