create table hog (data blob);
with recursive series(n) as (select 1 union all select n + 1 from series where n < 100000)
insert into hog select randomblob(1000000) from series;
select 'not reached' as result;
