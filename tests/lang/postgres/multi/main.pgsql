\i more.sql
select * from total;
