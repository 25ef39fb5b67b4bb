-- What programs use: each check is a row, the last statement shows those that are wrong.
create table checks (name text, got, want);

-- Dates
insert into checks select 'date', date('2024-01-31', '+1 month'), '2024-03-02';
insert into checks select 'strftime', strftime('%Y-%W %H:%M', '2024-02-29 12:34:56'), '2024-09 12:34';
insert into checks select 'julianday', cast(julianday('2024-03-01') - julianday('2024-02-01') as integer), 29;
insert into checks select 'unixepoch', unixepoch('2001-09-09 01:46:40'), 1000000000;

-- JSON
insert into checks select 'json', json_extract('{"a": [1, {"b": "c"}]}', '$.a[1].b'), 'c';
insert into checks select 'arrow', '{"a": {"b": 7}}' -> 'a' ->> 'b', 7;
insert into checks select 'json_each', (select group_concat(value, '+') from json_each('[1, 2, 3]')), '1+2+3';
insert into checks select 'json_group', (select json_group_array(value) from (select 1 as value union all select null)), '[1,null]';

-- Text
insert into checks select 'regexp', 'emberbox' regexp '^e.*x$', 1;
insert into checks select 'no regexp', 'emberbox' regexp '^\d+$', 0;
insert into checks select 'glob', 'emberbox' glob 'ember*', 1;
insert into checks select 'printf', printf('%05.1f|%-4s|%,d', 3.14159, 'ab', 1234567), '003.1|ab  |1,234,567';
insert into checks select 'replace', replace(trim('  a;b '), ';', '--'), 'a--b';
insert into checks select 'comment in a string', '/* no -- comment */', '/* no -- ' || 'comment */';

-- Common table expressions and windows
create table sale (region text, month integer, amount integer);
insert into sale values ('north', 1, 10), ('north', 2, 30), ('south', 1, 20), ('south', 2, 5), ('south', 3, 25);
insert into checks
  with recursive fib(a, b) as (values (0, 1) union all select b, a + b from fib where b < 100)
  select 'recursion', max(a), 89 from fib;
insert into checks
  select 'window', group_concat(running, ','), '10,40,20,25,50' from (
    select sum(amount) over (partition by region order by month) as running from sale order by region, month);
insert into checks
  select 'rank', group_concat(place, ','), '4,1,3' from (
    select rank() over (order by amount desc) as place, region, month from sale order by region, month limit 3);
insert into checks
  select 'filter', sum(amount) filter (where region = 'south'), 50 from sale;

-- Transactions
begin;
delete from sale;
savepoint inner_one;
insert into sale values ('lost', 0, 0);
rollback to inner_one;
insert into checks select 'inside', count(*), 0 from sale;
rollback;
insert into checks select 'rolled back', count(*), 5 from sale;
insert into checks select 'check was rolled back too', count(*), 0 from checks where name = 'inside';

-- Triggers, upsert, returning, generated columns, foreign keys
create table log (entry text);
create trigger logged after update on sale begin
  insert into log values (old.amount || ';' || new.amount);
  insert into log values ('end;');
end;
update sale set amount = 11 where region = 'north' and month = 1;
insert into checks select 'trigger', group_concat(entry, ' '), '10;11 end;' from log;
create table counter (name text primary key, n integer default 1, twice integer as (n * 2));
insert into counter(name) values ('a');
insert into counter(name) values ('a') on conflict (name) do update set n = n + 1;
insert into checks select 'upsert', twice, 4 from counter;
pragma foreign_keys = on;
create table parent (id integer primary key);
create table child (parent references parent on delete cascade);
insert into parent values (1);
insert into child values (1);
delete from parent;
insert into checks select 'cascade', count(*), 0 from child;

-- Full text search, attached databases, blobs
create virtual table note using fts5(body);
insert into note values ('the quick brown fox'), ('lazy dogs');
insert into checks select 'fts', body, 'lazy dogs' from note where note match 'dog* OR cat';
attach '/tmp/other.db' as other;
create table other.thing (x);
insert into other.thing values (x'00ff');
insert into checks select 'attached', hex(x), '00FF' from other.thing;
detach other;
insert into checks select 'integers', 9223372036854775807 + 0, 9223372036854775807;

select name, got, want from checks where got is not want;
select count(*) as checks from checks;
